// SPDX-License-Identifier: Apache-2.0
// Writing and checking headers of the byte form.
#include "prefix/byte_form.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "base/contract.hpp"
#include "base/mutants.hpp"

namespace holdfast::internal::prefix {
namespace {

static_assert(std::endian::native == std::endian::little,
              "rows are stored as they lie in memory, and the form is little endian");

constexpr char kMagic[8] = {'H', 'F', 'P', 'R', 'E', 'F', 'I', 'X'};
constexpr std::size_t kHeadBytes = 64;
constexpr std::size_t kPlaneBytes = 20;
constexpr std::size_t kChecksumBytes = 8;

Error refuse(ErrorCode code,
             char const* what,
             char const* text,
             std::uint64_t got = 0,
             std::uint64_t limit = 0) noexcept {
  return Error{.code = code,
               .text = text,
               .subject = what,
               .got = static_cast<std::int64_t>(got),
               .limit = static_cast<std::int64_t>(limit)};
}

Error damaged(char const* text, std::uint64_t got = 0, std::uint64_t limit = 0) noexcept {
  return refuse(ErrorCode::kDamaged, "bytes", text, got, limit);
}

/// Numbers one after the other. Requires room.
class Writer {
 public:
  explicit Writer(std::span<std::byte> out) noexcept : out_{out} {}
  template <typename T>
  void put(T value) noexcept {
    put_bytes(&value, sizeof value);
  }
  void put_bytes(void const* source, std::size_t bytes) noexcept {
    HOLDFAST_ASSERT(bytes <= out_.size());
    std::memcpy(out_.data(), source, bytes);
    out_ = out_.subspan(bytes);
  }
  [[nodiscard]] std::size_t left() const noexcept { return out_.size(); }

 private:
  std::span<std::byte> out_;
};

/// The same, read. Requires enough bytes.
class Reader {
 public:
  explicit Reader(std::span<std::byte const> bytes) noexcept : bytes_{bytes} {}
  template <typename T>
  T get() noexcept {
    HOLDFAST_ASSERT(sizeof(T) <= bytes_.size());
    T value;
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_ = bytes_.subspan(sizeof value);
    return value;
  }

 private:
  std::span<std::byte const> bytes_;
};

std::uint64_t add(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/// Mixes numbers into one, in order.
class Digest {
 public:
  void add(std::uint64_t word) noexcept {
    value_ = XXH3_64bits_withSeed(&word, sizeof word, value_);
  }
  [[nodiscard]] std::uint64_t value() const noexcept { return value_; }

 private:
  std::uint64_t value_ = 0;
};

/// Visits a spec's fields: a new field is part of the digest without anybody's doing.
struct FieldDigester {
  Digest& digest;

  void size(char const* /*field*/, std::uint32_t value) const noexcept { digest.add(value); }
  void optional(char const* /*field*/, std::uint32_t value) const noexcept { digest.add(value); }
  void sizes(char const* /*field*/, std::vector<std::uint32_t> const& values) const noexcept {
    digest.add(values.size());
    for (std::uint32_t const value : values) {
      digest.add(value);
    }
  }
  void format(char const* /*field*/, Format format) const noexcept {
    digest.add(static_cast<std::uint64_t>(format));
  }
  /// One that is as the other is no word; else it is one that no other field adds: these have 32 bits.
  void optional_format(char const* /*field*/,
                       std::optional<Format> format,
                       Format otherwise) const noexcept {
    if (format.value_or(otherwise) != otherwise) {
      digest.add((std::uint64_t{1} << 32U) | static_cast<std::uint64_t>(*format));
    }
  }
};

}  // namespace

std::uint64_t fingerprint_of(Layout const& layout) noexcept {
  Digest digest;
  for (std::size_t layer = 0; layer < layout.layers.size(); ++layer) {
    // By kind, since the order in which a layer lists its planes means nothing.
    for (std::size_t kind = 0; kind < std::variant_size_v<PlaneSpec>; ++kind) {
      for (PlaneSpec const& spec : layout.layers[layer].planes) {
        if (spec.index() == kind) {
          digest.add(layer);
          digest.add(layout.layers[layer].stage);
          digest.add(kind);
          std::visit([&](auto const& known) { known.fields(known, FieldDigester{digest}); }, spec);
        }
      }
    }
  }
  return digest.value();
}

std::uint64_t Form::tokens_at() const noexcept {
  return kHeadBytes + std::uint64_t{plane_count} * kPlaneBytes;
}

EntryBytes Form::bytes() const noexcept {
  EntryBytes sum;
  for (std::uint32_t plane = 0; plane < plane_count; ++plane) {
    sum.payload = add(sum.payload, planes[plane].bytes);
  }
  sum.total = add(add(payload_at(), sum.payload), kChecksumBytes);
  return sum;
}

void write_head(Form const& form,
                std::span<TokenKey const> tokens,
                std::span<std::byte> out) noexcept {
  Writer writer{out};
  writer.put_bytes(kMagic, sizeof kMagic);
  writer.put(kByteFormVersion);
  writer.put(form.plane_count);
  writer.put(form.bytes().total);
  writer.put(form.fingerprint);
  writer.put(form.ranks);
  writer.put(form.tokens);
  writer.put(form.scope.model);
  writer.put(form.scope.adapter);
  writer.put(form.scope.tenant);
  for (std::uint32_t plane = 0; plane < form.plane_count; ++plane) {
    writer.put(form.planes[plane].kind);
    writer.put(form.planes[plane].layers);
    writer.put(form.planes[plane].rows);
    writer.put(form.planes[plane].bytes);
  }
  HOLDFAST_ASSERT(out.size() - writer.left() == form.tokens_at());
  writer.put_bytes(tokens.data(), tokens.size_bytes());
}

void seal(std::span<std::byte> out) noexcept {
  std::size_t const covered = out.size() - kChecksumBytes;
  std::uint64_t const checksum = XXH3_64bits(out.data(), covered);
  std::memcpy(out.data() + covered, &checksum, sizeof checksum);
}

Result<Form> read_head(std::span<std::byte const> bytes) noexcept {
  if (bytes.size() < kHeadBytes + kChecksumBytes) {
    return damaged("are fewer than any entry has", bytes.size(), kHeadBytes + kChecksumBytes);
  }
  if (std::memcmp(bytes.data(), kMagic, sizeof kMagic) != 0) {
    return refuse(ErrorCode::kInvalidArgument, "magic", "the bytes are no prefix entry");
  }
  Reader reader{bytes.subspan(sizeof kMagic)};
  if (auto const version = reader.get<std::uint32_t>();
      version != kByteFormVersion && !HOLDFAST_MUTANT(kVersionIgnored)) {
    return refuse(ErrorCode::kUnsupported,
                  "version",
                  "the entry is of another version",
                  version,
                  kByteFormVersion);
  }
  Form form{.plane_count = reader.get<std::uint32_t>()};
  auto const total = reader.get<std::uint64_t>();
  bool const cut_is_fine = HOLDFAST_MUTANT(kTruncatedAccepted) && bytes.size() < total;
  if (total != bytes.size() && !cut_is_fine) {
    return damaged(bytes.size() < total ? "are cut short" : "are more than the entry has",
                   bytes.size(),
                   total);
  }
  std::size_t const covered = bytes.size() - kChecksumBytes;
  std::uint64_t checksum = 0;
  std::memcpy(&checksum, bytes.data() + covered, sizeof checksum);
  if (checksum != XXH3_64bits(bytes.data(), covered) && !cut_is_fine &&
      !HOLDFAST_MUTANT(kChecksumIgnored)) {
    return damaged("do not match their checksum");
  }
  // From here on a wrong number is no accident, but it is as wrong.
  form.fingerprint = reader.get<std::uint64_t>();
  form.ranks = reader.get<std::uint32_t>();
  form.tokens = reader.get<std::uint32_t>();
  form.scope.model = reader.get<std::uint64_t>();
  form.scope.adapter = reader.get<std::uint64_t>();
  form.scope.tenant = reader.get<std::uint64_t>();
  if (form.plane_count > form.planes.size() || form.payload_at() > covered) {
    return damaged("name more planes or tokens than they have", form.plane_count, covered);
  }
  for (std::uint32_t plane = 0; plane < form.plane_count; ++plane) {
    PlaneForm& known = form.planes[plane];
    known.kind = reader.get<std::uint32_t>();
    known.layers = reader.get<std::uint32_t>();
    known.rows = reader.get<std::uint32_t>();
    known.bytes = reader.get<std::uint64_t>();
  }
  if (form.bytes().total != total) {
    return damaged("do not add up to their own sizes", form.bytes().total, total);
  }
  return form;
}

Status check_owner(Form const& found, Form const& own) noexcept {
  struct Field {
    char const* name;
    char const* text;
    std::uint64_t found;
    std::uint64_t own;
  };
  Field const fields[] = {
      {"layout", "the entry is of another layout", found.fingerprint, own.fingerprint},
      {"ranks", "the entry is of another number of ranks", found.ranks, own.ranks},
      {"model", "the entry is of another model", found.scope.model, own.scope.model},
      {"adapter", "the entry is of another adapter", found.scope.adapter, own.scope.adapter},
      {"tenant", "the entry is of another tenant", found.scope.tenant, own.scope.tenant}};
  for (Field const& field : fields) {
    if (field.found != field.own && !HOLDFAST_MUTANT(kForeignAccepted)) {
      char const* const name = HOLDFAST_MUTANT(kForeignNamesLayout) ? fields[0].name : field.name;
      return refuse(ErrorCode::kInvalidArgument, name, field.text, field.found, field.own);
    }
  }
  return {};
}

Status check_sizes(Form const& found, Form const& own) noexcept {
  if (found.plane_count != own.plane_count) {
    return damaged("name another number of planes", found.plane_count, own.plane_count);
  }
  for (std::uint32_t plane = 0; plane < own.plane_count; ++plane) {
    if (!(found.planes[plane] == own.planes[plane])) {
      return refuse(ErrorCode::kDamaged,
                    name_of(static_cast<PlaneKind>(own.planes[plane].kind)),
                    "the plane's kind, layers, rows or bytes do not follow from the tokens",
                    found.planes[plane].bytes,
                    own.planes[plane].bytes);
    }
  }
  return {};
}

void read_tokens(Form const& form,
                 std::span<std::byte const> bytes,
                 std::span<TokenKey> out) noexcept {
  std::memcpy(
      out.data(), bytes.data() + form.tokens_at(), std::size_t{form.tokens} * sizeof(TokenKey));
}

}  // namespace holdfast::internal::prefix
