// SPDX-License-Identifier: Apache-2.0
#include "models/copying/copy.hpp"

#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "models/copying/mutants.hpp"
#include "models/source.hpp"

namespace holdfast::model::copying {
namespace {

constexpr std::uint32_t kMagic = 0x79706F63;  // "copy"
constexpr std::uint32_t kVersion = 1;

/// What bytes begin with.
struct Head {
  std::uint32_t magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t layout = 0;
  std::uint32_t ranks = 0;
  std::uint32_t scope = 0;
  std::uint32_t tokens = 0;
};

std::uint32_t hash_of(ModelShape const& shape) {
  std::uint64_t hash = shape.state_elements;
  for (PlaneShape const& plane : shape.planes) {
    hash = mix(hash,
               row_code(plane.kind, plane.layer, 0) * std::uint64_t{kWidestRow} + plane.elements);
  }
  return static_cast<std::uint32_t>(hash);
}

template <typename T>
void append(std::vector<std::byte>& bytes, T const* values, std::size_t count) {
  auto const* const first = reinterpret_cast<std::byte const*>(values);
  bytes.insert(bytes.end(), first, first + count * sizeof(T));
}

/// Takes values from the front. False when there are not so many.
template <typename T>
bool take(std::span<std::byte const>& bytes, T* values, std::size_t count) {
  if (bytes.size() < count * sizeof(T)) {
    return false;
  }
  if (count != 0) {  // `values` may be null when there is nothing
    std::memcpy(values, bytes.data(), count * sizeof(T));
  }
  bytes = bytes.subspan(count * sizeof(T));
  return true;
}

void seal(std::vector<std::byte>& bytes) {
  XXH64_hash_t const checksum = XXH3_64bits(bytes.data(), bytes.size());
  append(bytes, &checksum, 1);
}

/// Adds one to a number, and seals again.
void raise(std::vector<std::byte>& bytes, std::size_t at) {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  ++value;
  std::memcpy(bytes.data() + at, &value, sizeof value);
  bytes.resize(bytes.size() - sizeof(XXH64_hash_t));
  seal(bytes);
}

Error refused(ErrorCode code) {
  return Error{.code = code};
}

}  // namespace

bool is_draft(PlaneShape const& plane) noexcept {
  return rule_of(plane.kind) == PlaneRule::kDraft;
}

std::uint32_t rows_for(PlaneShape const& plane, std::uint32_t tokens) noexcept {
  return plane.kind == PlaneKind::kPoolKeys ? tokens / plane.pool : tokens;
}

void Copy::write(ModelShape const& shape,
                 std::uint32_t plane,
                 std::uint32_t first,
                 std::uint32_t last) {
  PlaneShape const& own = shape.planes[plane];
  ReferencePlane const& meaning = *AllReferences::find(own.kind);
  set_length(shape, plane, std::max(last, length(shape, plane)));
  for (std::uint32_t row = first; row < last; ++row) {
    meaning.expect(
        own, {.tokens = tokens}, row, rows[plane].data() + std::size_t{row} * own.elements);
  }
}

void Copy::shorten(ModelShape const& shape, std::uint32_t length) {
  for (std::uint32_t plane = 0; plane < rows.size(); ++plane) {
    set_length(
        shape, plane, std::min(this->length(shape, plane), rows_for(shape.planes[plane], length)));
  }
  tokens.resize(length);
}

std::vector<std::byte> to_bytes(ModelShape const& shape, Copy const& copy, std::uint32_t scope) {
  std::vector<std::byte> bytes;
  Head const head{
      .layout = hash_of(shape), .ranks = shape.ranks, .scope = scope, .tokens = copy.position()};
  append(bytes, &head, 1);
  append(bytes, copy.tokens.data(), copy.tokens.size());
  for (std::uint32_t plane = 0; plane < copy.rows.size(); ++plane) {
    std::uint32_t const length = copy.length(shape, plane);
    append(bytes, &length, 1);
    append(bytes, copy.rows[plane].data(), copy.rows[plane].size());
  }
  append(bytes, copy.state.data(), copy.state.size());
  seal(bytes);
  return bytes;
}

Result<Copy> from_bytes(ModelShape const& shape,
                        std::vector<std::byte> const& bytes,
                        std::uint32_t scope) {
  if (bytes.size() < sizeof(Head) + sizeof(XXH64_hash_t)) {
    return refused(ErrorCode::kDamaged);
  }
  std::span<std::byte const> rest{bytes.data(), bytes.size() - sizeof(XXH64_hash_t)};
  XXH64_hash_t checksum = 0;
  std::memcpy(&checksum, rest.data() + rest.size(), sizeof checksum);
  bool const is_whole =
      checksum == XXH3_64bits(rest.data(), rest.size()) || is_on(Mutant::kChecksumIgnored);
  Head head;
  static_cast<void>(take(rest, &head, 1));
  if (head.magic != kMagic) {
    return refused(ErrorCode::kInvalidArgument);
  }
  if (head.version != kVersion) {
    return refused(ErrorCode::kUnsupported);
  }
  if (!is_whole) {
    return refused(ErrorCode::kDamaged);
  }
  if (head.layout != hash_of(shape) || head.ranks != shape.ranks || head.scope != scope) {
    return refused(ErrorCode::kInvalidArgument);
  }
  if (std::uint64_t{head.tokens} * sizeof(Token) > rest.size()) {
    return refused(ErrorCode::kDamaged);
  }
  Copy copy;
  copy.tokens.resize(head.tokens);
  copy.rows.resize(shape.planes.size());
  copy.state.resize(shape.state_elements);
  copy.state_at = head.tokens;
  bool fits = take(rest, copy.tokens.data(), head.tokens);
  for (std::uint32_t plane = 0; plane < shape.planes.size() && fits; ++plane) {
    std::uint32_t length = 0;
    PlaneShape const& own = shape.planes[plane];
    fits = take(rest, &length, 1) &&
           (is_draft(own) ? length <= head.tokens : length == rows_for(own, head.tokens));
    if (fits) {
      copy.set_length(shape, plane, length);
      fits = take(rest, copy.rows[plane].data(), copy.rows[plane].size());
    }
  }
  fits = fits && take(rest, copy.state.data(), copy.state.size()) && rest.empty();
  if (!fits) {
    return refused(ErrorCode::kDamaged);
  }
  return copy;
}

void damage(std::vector<std::byte>& bytes, Damage damage, std::uint32_t at) {
  constexpr std::size_t kBehindVersion = 2 * sizeof(std::uint32_t);
  auto const bit = std::byte{1} << (at % 8);
  switch (damage) {
    case Damage::kFlip:
      bytes[kBehindVersion + at % (bytes.size() - kBehindVersion)] ^= bit;
      break;
    case Damage::kCut:
      bytes.resize(at % bytes.size());
      break;
    case Damage::kLonger:
      bytes.push_back(std::byte{});
      break;
    case Damage::kMagic:
      bytes[at % sizeof(std::uint32_t)] ^= bit;
      break;
    case Damage::kVersion:
      raise(bytes, offsetof(Head, version));
      break;
    case Damage::kLayout:
      raise(bytes, offsetof(Head, layout));
      break;
    case Damage::kRanks:
      raise(bytes, offsetof(Head, ranks));
      break;
    case Damage::kTokens:
      raise(bytes, offsetof(Head, tokens));
      break;
    case Damage::kScope:
      break;
  }
}

}  // namespace holdfast::model::copying
