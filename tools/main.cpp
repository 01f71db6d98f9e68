// SPDX-License-Identifier: Apache-2.0
// bootstrap
#include <cstdio>
#include <cstdlib>

#include "fuzz/mutants.hpp"
using namespace holdfast;
int main(int argc, char** argv) {
  fuzz::RunPlan plan;
  for (int i = 2; i < argc; ++i)
    plan.geometries.push_back(model::load_geometry(argv[i]));
  plan.operations = std::strtoull(argv[1], nullptr, 10);
  plan.seed = 7;
  if (char const* m = std::getenv("HM")) {
    std::printf("mutant %d\n", fuzz::select_mutant(m));
  }
  auto r = fuzz::run_many(plan);
  std::printf("%llu ops %llu rows %.3f s: %.0f ops/s %.0f rows/s digest %016llx checks %llu\n",
              1ULL * r.counts.operations,
              1ULL * r.counts.rows,
              r.seconds,
              double(r.counts.operations) / r.seconds,
              double(r.counts.rows) / r.seconds,
              1ULL * r.digest,
              1ULL * r.counts.checks);
  if (r.failed) {
    std::printf("%s%s",
                model::print_trace(r.failed->trace).c_str(),
                fuzz::describe_failure(r.failed->failure, r.failed->trace.ops).c_str());
    return 1;
  }
}
