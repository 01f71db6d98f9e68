// SPDX-License-Identifier: Apache-2.0
// The toy engine's arithmetic.
#include "models/engine/rows.hpp"

#include <algorithm>
#include <array>

#include "models/engine/lanes.hpp"
#include "models/engine/stored_formats.hpp"

namespace holdfast::model {
namespace {

/// 16 bits for one element: adds only, so that a row is made at the speed of its stores.
constexpr std::uint32_t kElementStep = 0x9E3779B1U;
constexpr std::uint32_t scramble(std::uint32_t seed, std::uint32_t element) noexcept {
  return (seed + element * kElementStep) >> 16U;
}

constexpr std::uint32_t seed_of(PlaneKind kind, std::uint32_t layer, Token token) noexcept {
  std::uint32_t const x =
      token * 0x27D4EB2FU + layer * 0x165667B1U + static_cast<std::uint32_t>(kind) * 0x2545F491U;
  return (x ^ (x >> 15U)) * 0x2C1B3C6DU;
}

Floats to_floats(Words words) noexcept {
  return __builtin_convertvector(reinterpret_cast<Integers>(words), Floats);
}

/// Seeds of elements first .. first + 3, not yet shifted down.
Words element_seeds(std::uint32_t seed, std::uint32_t first) noexcept {
  std::uint32_t const drawn = seed + first * kElementStep;
  return Words{drawn, drawn + kElementStep, drawn + 2 * kElementStep, drawn + 3 * kElementStep};
}

/// One row of an ssm state after some more inputs, which lie `stride` apart. `from` and `to` may be
/// the same.
void decay_row(float const* from,
               float* to,
               float const* inputs,
               std::uint32_t stride,
               std::uint32_t count,
               std::uint32_t width) noexcept {
  float const* const end = inputs + std::size_t{count} * stride;
  Floats factors = {1.0F, 2.0F, 3.0F, 4.0F};
  std::uint32_t column = 0;
  for (; column + 2 * kLanes <= width; column += 2 * kLanes, factors += 8.0F) {
    Floats low = load(from + column);
    Floats high = load(from + column + kLanes);
    Floats const high_factors = factors + 4.0F;
    for (float const* input = inputs; input != end; input += stride) {
      low = 0.75F * low + *input * factors;
      high = 0.75F * high + *input * high_factors;
    }
    store(to + column, low);
    store(to + column + kLanes, high);
  }
  for (; column + kLanes <= width; column += kLanes, factors += 4.0F) {
    Floats values = load(from + column);
    for (float const* input = inputs; input != end; input += stride) {
      values = 0.75F * values + *input * factors;
    }
    store(to + column, values);
  }
  for (float factor = factors[0]; column < width; ++column, factor += 1.0F) {
    float value = from[column];
    for (float const* input = inputs; input != end; input += stride) {
      value = 0.75F * value + *input * factor;
    }
    to[column] = value;
  }
}

/// The first `count` elements of a row, each the highest `bits` of what is drawn for it.
void fill_elements(std::uint32_t seed,
                   std::uint32_t count,
                   std::uint32_t bits,
                   float* out) noexcept {
  std::uint32_t const shift = 32 - bits;
  Words drawn = element_seeds(seed, 0);
  std::uint32_t element = 0;
  for (; element + kLanes <= count; element += kLanes, drawn += kLanes * kElementStep) {
    store(out + element, to_floats(drawn >> shift));
  }
  for (; element < count; ++element) {
    out[element] =
        static_cast<float>(static_cast<std::int32_t>(scramble(seed, element) >> (16 - bits)));
  }
}

// Every format holds whole numbers to 256 exactly, bf16 no further.
constexpr std::uint32_t kDigitBase = 256;
constexpr std::uint32_t kTokenDigits = 3;

/// Writes what the first elements of a strip say, as far as there is room for it.
class ClearWriter {
 public:
  ClearWriter(float* out, std::uint32_t room) noexcept : out_{out}, end_{out + room} {}

  void add(std::uint32_t value) noexcept {
    if (out_ != end_) {
      *out_++ = static_cast<float>(static_cast<std::int32_t>(value));
    }
  }
  void add_digits(std::uint32_t value, std::uint32_t digits) noexcept {
    for (; digits != 0; --digits, value /= kDigitBase) {
      add(value % kDigitBase);
    }
  }

 private:
  float* out_;
  float* end_;
};

void write_clear(PlaneShape const& shape,
                 Token token,
                 std::uint32_t position,
                 std::uint32_t strip,
                 float* out,
                 std::uint32_t room) noexcept {
  std::uint32_t const code = row_code(shape.kind, shape.layer, strip);
  ClearWriter clear{out, room};
  if (stored_format(shape.formats[strip]).is_cut) {
    clear.add_digits(token, kTokenDigits);
    clear.add_digits(position, 2);
    clear.add_digits(code, 2);
  } else {
    clear.add(token);
    clear.add(position);
    clear.add(code);
  }
}

/// The conv input of one channel.
float channel_input(std::uint32_t seed, std::uint32_t channel) noexcept {
  return static_cast<float>(static_cast<std::int32_t>(scramble(seed, channel) >> 8U));
}

/// Tokens that are advanced over at once.
constexpr std::uint32_t kTokenBlock = 32;

/// The conv windows after `count` more tokens: the last inputs, whatever was between.
void advance_windows(StateShape const& shape,
                     std::uint32_t const* seeds,
                     std::uint32_t count,
                     float const* before,
                     float* after) noexcept {
  std::uint32_t const window = shape.window;
  std::uint32_t channel = 0;
  for (; channel + kLanes <= shape.channels; channel += kLanes) {
    std::size_t const at = std::size_t{channel} * window;
    for (std::uint32_t i = 0; i < window; ++i) {
      Floats values;
      if (i + count < window) {
        float const* const from = before + at + i + count;
        values = Floats{from[0], from[window], from[2 * window], from[3 * window]};
      } else {
        values = to_floats(element_seeds(seeds[i + count - window], channel) >> 24U);
      }
      float* const to = after + at + i;
      to[0] = values[0];
      to[window] = values[1];
      to[2 * window] = values[2];
      to[3 * window] = values[3];
    }
  }
  for (; channel < shape.channels; ++channel) {
    std::size_t const at = std::size_t{channel} * window;
    for (std::uint32_t i = 0; i < window; ++i) {
      after[at + i] = i + count < window ? before[at + i + count]
                                         : channel_input(seeds[i + count - window], channel);
    }
  }
}

/// What the ssm rows from `row` on take in for each token, [count, kLanes]. It depends on the
/// window's oldest input, so that a stale window spoils the state as well. `channel` counts in
/// `own`, the channels that these rows read, and is that of the first row; rows below `lanes` are
/// filled.
struct ChannelRange {
  std::uint32_t first;
  std::uint32_t count;
};
void fill_inputs(StateShape const& shape,
                 ChannelRange own,
                 std::uint32_t const* seeds,
                 std::uint32_t count,
                 float const* before,
                 std::uint32_t row,
                 std::uint32_t channel,
                 std::uint32_t lanes,
                 float* inputs) noexcept {
  std::uint32_t const window = shape.window;
  if (lanes == kLanes && channel + kLanes <= own.count) {
    std::uint32_t const at = own.first + channel;
    float const* const oldest = before + std::size_t{at} * window;
    for (std::uint32_t i = 0; i < count; ++i) {
      Floats values = to_floats(element_seeds(seeds[i], row) >> 16U);
      if (i + 1 < window) {
        float const* const from = oldest + i + 1;
        values += Floats{from[0], from[window], from[2 * window], from[3 * window]};
      } else {
        values += to_floats(element_seeds(seeds[i + 1 - window], at) >> 24U);
      }
      store(inputs + std::size_t{i} * kLanes, values);
    }
    return;
  }
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    std::uint32_t const at = own.count == 0 ? 0 : own.first + (channel + lane) % own.count;
    for (std::uint32_t i = 0; i < count; ++i) {
      float& input = inputs[i * kLanes + lane];
      input = static_cast<float>(static_cast<std::int32_t>(scramble(seeds[i], row + lane)));
      if (own.count != 0) {
        input += i + 1 < window ? before[std::size_t{at} * window + i + 1]
                                : channel_input(seeds[i + 1 - window], at);
      }
    }
  }
}

/// Calls `piece(whole, shard, count)` for each run of elements that a rank holds of a state, by
/// their offsets in the whole state and in the shard.
template <typename Piece>
void for_each_piece(StateShape const& shape,
                    std::uint32_t ranks,
                    std::uint32_t rank,
                    Piece piece) noexcept {
  std::uint32_t whole = 0;
  std::uint32_t shard = 0;
  auto const split = [&](std::uint32_t elements) {
    std::uint32_t const count = elements / ranks;
    piece(whole + rank * count, shard, count);
    whole += elements;
    shard += count;
  };
  for (std::uint32_t const segment : shape.segments) {
    split(segment * shape.window);
  }
  split(shape.heads * shape.d_k * shape.d_v);
  piece(whole, shard, shape.held);  // every rank has all of it
}

/// The ssm state after `count` more tokens, row by row.
void advance_ssm(StateShape const& shape,
                 std::uint32_t const* seeds,
                 std::uint32_t count,
                 float const* before,
                 float* after) noexcept {
  std::uint32_t const rows = shape.heads * shape.d_k;
  std::uint32_t const group_rows = rows / shape.groups;
  float const* from = before + shape.conv_elements();
  float* to = after + shape.conv_elements();
  float inputs[kTokenBlock * kLanes];
  for (std::uint32_t group = 0; group < shape.groups; ++group) {
    ChannelRange own{0, shape.channels};
    if (shape.groups > 1 && shape.channels != 0) {
      own.count = shape.segments[0] / shape.groups;
      own.first = group * own.count;
    }
    std::uint32_t channel = 0;
    std::uint32_t const end = (group + 1) * group_rows;
    for (std::uint32_t row = group * group_rows; row < end; row += kLanes) {
      std::uint32_t const lanes = std::min(end - row, kLanes);
      fill_inputs(shape, own, seeds, count, before, row, channel, lanes, inputs);
      for (std::uint32_t lane = 0; lane < lanes; ++lane, from += shape.d_v, to += shape.d_v) {
        decay_row(from, to, inputs + lane, kLanes, count, shape.d_v);
      }
      channel = own.count == 0 ? 0 : (channel + kLanes) % own.count;
    }
  }
}

}  // namespace

void take_shard(PlaneShape const& shape,
                float const* row,
                std::uint32_t ranks,
                std::uint32_t rank,
                float* out) noexcept {
  if (!shape.split) {
    std::copy_n(row, shape.elements, out);
    return;
  }
  std::uint32_t const width = shape.strip_elements();
  for (std::uint32_t strip = 0; strip < shape.strips; ++strip, out += width / ranks) {
    std::copy_n(row + strip * width + rank * (width / ranks), width / ranks, out);
  }
}

void take_shard(StateShape const& shape,
                float const* state,
                std::uint32_t ranks,
                std::uint32_t rank,
                float* out) noexcept {
  for_each_piece(shape, ranks, rank, [&](auto whole, auto shard, auto count) {
    std::copy_n(state + whole, count, out + shard);
  });
}

void put_shard(StateShape const& shape,
               float const* shard_state,
               std::uint32_t ranks,
               std::uint32_t rank,
               float* state) noexcept {
  for_each_piece(shape, ranks, rank, [&](auto whole, auto shard, auto count) {
    std::copy_n(shard_state + shard, count, state + whole);
  });
}

void make_row(PlaneShape const& shape, Token token, std::uint32_t position, float* out) noexcept {
  std::uint32_t const seed = seed_of(shape.kind, shape.layer, token);
  // Indexer rows are [value | gate]; gates lie in [-4, 4), so that weights meet both clamps.
  bool const has_gates = shape.kind == PlaneKind::kTailRing;
  std::uint32_t const width = shape.strip_elements();
  for (std::uint32_t strip = 0; strip < shape.strips; ++strip) {
    std::uint32_t const digits = stored_format(shape.formats[strip]).digits;
    fill_elements(seed + strip * width * kElementStep, width, digits, out + strip * width);
  }
  if (has_gates) {
    for (std::uint32_t element = shape.key_width; element < shape.elements; ++element) {
      out[element] = out[element] * (1.0F / 8192.0F) - 4.0F;
    }
  }
  std::uint32_t const shares = shape.strips * shape.shares;
  std::uint32_t const share = shares == 1 ? shape.elements : shape.elements / shares;
  std::uint32_t const room = has_gates ? shape.key_width : share;
  for (std::uint32_t strip = 0; strip < shape.strips; ++strip) {
    for (std::uint32_t i = 0; i < shape.shares; ++i, out += share) {
      write_clear(shape, token, position, strip, out, room);
    }
  }
}

void make_stored_row(PlaneShape const& shape,
                     Token token,
                     std::uint32_t position,
                     float* out) noexcept {
  make_row(shape, token, position, out);
  std::uint32_t const width = shape.strip_elements();
  for (std::uint32_t strip = 0; strip < shape.strips; ++strip, out += width) {
    if (auto* const round = stored_format(shape.formats[strip]).round; round != nullptr) {
      round(width, out);
    }
  }
}

Token token_of_row(PlaneShape const& shape, float const* row) noexcept {
  constexpr float kExact = 8388608.0F;
  if (!stored_format(shape.formats[0]).is_cut) {
    return row[0] >= 1.0F && row[0] < kExact ? static_cast<Token>(row[0]) : 0;
  }
  Token token = 0;
  for (std::uint32_t digit = std::min(kTokenDigits, shape.elements / (shape.strips * shape.shares));
       digit-- > 0;) {
    bool const is_digit = row[digit] >= 0.0F && row[digit] < static_cast<float>(kDigitBase);
    if (!is_digit) {
      return 0;
    }
    token = token * kDigitBase + static_cast<Token>(row[digit]);
  }
  return token;
}

void make_key(PlaneShape const& ring,
              std::span<Token const> tokens,
              std::uint32_t position,
              float* out) noexcept {
  float row[kWidestRow];
  for (std::uint32_t i = 0; i < tokens.size(); ++i) {
    make_row(ring, tokens[i], position + i, row);
    for (std::uint32_t element = 0; element < ring.key_width; ++element) {
      float weight = 0.5F + 0.25F * row[ring.key_width + element];
      weight = weight < 0.0F ? 0.0F : weight;
      weight = weight > 1.0F ? 1.0F : weight;
      float const term = weight * row[element];
      out[element] = i == 0 ? term : out[element] + term;
    }
  }
  for (std::uint32_t element = 0; element < ring.key_width; ++element) {
    out[element] = out[element] / static_cast<float>(tokens.size());
  }
}

void advance_recurrent(StateShape const& shape,
                       std::span<Token const> tokens,
                       float const* before,
                       float* after) noexcept {
  std::uint32_t seeds[kTokenBlock];
  while (!tokens.empty()) {
    auto const count =
        static_cast<std::uint32_t>(std::min<std::size_t>(tokens.size(), kTokenBlock));
    for (std::uint32_t i = 0; i < count; ++i) {
      seeds[i] = seed_of(PlaneKind::kRecurrent, shape.layer, tokens[i]);
    }
    // The ssm state reads the windows as they were.
    advance_ssm(shape, seeds, count, before, after);
    advance_windows(shape, seeds, count, before, after);
    tokens = tokens.subspan(count);
    before = after;
  }
}

void advance_held(StateShape const& shape,
                  std::span<Token const> tokens,
                  float const* before,
                  float* after) noexcept {
  constexpr std::uint32_t kClear = 2;  // the token and the position stand in the clear
  float const clear[kClear] = {tokens.empty() ? before[0] : static_cast<float>(tokens.back()),
                               shape.held > 1 ? before[1] + static_cast<float>(tokens.size()) : 0};
  for (std::uint32_t element = kClear; element < shape.held; ++element) {
    float value = before[element];
    for (Token const token : tokens) {
      std::uint32_t const seed = seed_of(shape.kind, shape.layer, token);
      value =
          0.75F * value + static_cast<float>(static_cast<std::int32_t>(scramble(seed, element)));
    }
    after[element] = value;
  }
  std::copy_n(clear, std::min(shape.held, kClear), after);
}

}  // namespace holdfast::model
