// SPDX-License-Identifier: Apache-2.0
// Medians of host times.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <holdfast/result.hpp>
#include <vector>

namespace holdfast::bench {

/// Microseconds of one thing: until its calls returned, and until the device was done with it.
struct Times {
  double host = 0;
  double total = 0;
};

inline double now() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double, std::micro>(Clock::now().time_since_epoch()).count();
}

inline double median(std::vector<double> values) {
  if (values.empty()) {
    return 0;
  }
  auto const middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Ends the program, when a call fails that cannot.
template <typename T>
void must(Result<T> const& result, char const* what) {
  if (!result) {
    std::fprintf(stderr, "%s: %s\n", what, describe(result.error()).c_str());
    std::exit(1);
  }
}

/// Medians over `runs` runs, after a few that do not count. `prepare` comes before each and is not
/// timed, `wait` waits for the device.
template <typename Prepare, typename Run, typename Wait>
Times measure(std::uint32_t runs, Prepare prepare, Run run, Wait wait) {
  constexpr std::uint32_t kWarm = 5;
  std::vector<double> hosts;
  std::vector<double> totals;
  for (std::uint32_t i = 0; i < runs + kWarm; ++i) {
    prepare();
    wait();
    double const start = now();
    run();
    double const issued = now();
    wait();
    if (i >= kWarm) {
      hosts.push_back(issued - start);
      totals.push_back(now() - start);
    }
  }
  return {median(hosts), median(totals)};
}

}  // namespace holdfast::bench
