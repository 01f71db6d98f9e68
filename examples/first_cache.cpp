// SPDX-License-Identifier: Apache-2.0
// A first cache: one attention and one recurrent layer on the host; speculate, then go back.
#include <cstdio>
#include <holdfast/cache.hpp>

using holdfast::PlaneKind;

namespace {

float const kv_rows[8][8] = {};  // [token, K and V, 2 heads, 2 elements]: what kernels computed

holdfast::Result<holdfast::Cache> create(holdfast::Device& device) {
  holdfast::Layout layout;
  layout.layers = {{{holdfast::AttentionKvSpec{.heads = 2, .head_dim = 2}}},
                   {{holdfast::RecurrentSpec{
                       .conv_segments = {4}, .kernel = 4, .heads = 1, .d_k = 2, .d_v = 2}}}};
  layout.capacity = {.sequences = 2, .tokens = 256, .largest_round = 4, .snapshots = 2};
  return holdfast::Cache::create(layout, device);
}

holdfast::Status run(holdfast::Cache& cache) {
  // [usage]
  auto sequence = cache.create_sequence();
  HOLDFAST_TRY(sequence);
  auto prompt = sequence->append(8);
  HOLDFAST_TRY(prompt);
  HOLDFAST_TRY(prompt->write(PlaneKind::kAttentionKv, 0, kv_rows[0], 8));
  HOLDFAST_TRY(prompt->state(1));  // where the engine's kernel writes the recurrent state
  HOLDFAST_TRY(prompt->commit());

  auto before = sequence->snapshot();  // every plane, no copy
  HOLDFAST_TRY(before);
  auto round = sequence->verify(4);  // four drafted tokens
  HOLDFAST_TRY(round);
  HOLDFAST_TRY(round->write(PlaneKind::kAttentionKv, 0, kv_rows[0], 0, 4));
  HOLDFAST_TRY(round->state(1));   // one state column a token
  HOLDFAST_TRY(round->accept(2));  // the target model agreed with two
  std::printf("position after accept: %u\n", *sequence->position());

  HOLDFAST_TRY(sequence->rollback(*before));  // bit for bit, every plane
  std::printf("position after rollback: %u\n", *sequence->position());
  // [usage end]
  return {};
}

}  // namespace

int main() {
  auto const device = holdfast::make_host_device();
  auto cache = create(*device);
  holdfast::Status const status = cache ? run(*cache) : holdfast::Status{cache.error()};
  if (!status) {
    std::fprintf(stderr, "%s\n", holdfast::describe(status.error()).c_str());
  }
  return status ? 0 : 1;
}
