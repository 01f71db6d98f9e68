// SPDX-License-Identifier: Apache-2.0
// Encoder and decoder; both go through the operations' field lists.
#include "fuzz/codec.hpp"

#include <algorithm>
#include <utility>

#include "fuzz/op_fields.hpp"
#include "models/input_error.hpp"
#include "models/read_file.hpp"

namespace holdfast::fuzz {
namespace {

using model::AllOps;
using model::AnyOp;
using model::StepDeed;
using model::StepPart;

constexpr std::uint32_t kNumberBytes = 4;
constexpr std::uint32_t kWideBytes = 10;
constexpr std::size_t kUsualBytes = 512;

class Writer {
 public:
  // Most programs fit; g++ 12 at -O3 sees an overflow in the growth of an empty vector.
  Writer() { bytes_.reserve(kUsualBytes); }
  void byte(std::uint32_t value) { bytes_.push_back(static_cast<std::uint8_t>(value)); }
  void number(std::uint32_t value) {
    value = std::min(value, kNumberLimit);
    while (value >= 0x80U) {
      byte((value & 0x7FU) | 0x80U);
      value >>= 7U;
    }
    byte(value);
  }
  void wide(std::uint64_t value) {
    for (; value >= 0x80U; value >>= 7U) {
      byte((static_cast<std::uint32_t>(value) & 0x7FU) | 0x80U);
    }
    byte(static_cast<std::uint32_t>(value));
  }
  void text(std::string const& text) {
    std::size_t const length = std::min<std::size_t>(text.size(), kReferenceLimit);
    number(static_cast<std::uint32_t>(length));
    bytes_.insert(bytes_.end(), text.begin(), text.begin() + static_cast<std::ptrdiff_t>(length));
  }
  std::vector<std::uint8_t> take() { return std::move(bytes_); }

 private:
  std::vector<std::uint8_t> bytes_;
};

class Reader {
 public:
  explicit Reader(std::span<std::uint8_t const> bytes) : bytes_{bytes} {}
  [[nodiscard]] bool is_at_end() const { return bytes_.empty(); }
  std::uint32_t byte() {
    if (bytes_.empty()) {
      return 0;
    }
    std::uint32_t const value = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return value;
  }
  std::uint32_t number() {
    std::uint32_t value = 0;
    for (std::uint32_t i = 0; i < kNumberBytes; ++i) {
      std::uint32_t const read = byte();
      value |= (read & 0x7FU) << (7U * i);
      if (read < 0x80U) {
        break;
      }
    }
    return std::min(value, kNumberLimit);
  }
  std::uint64_t wide() {
    std::uint64_t value = 0;
    for (std::uint32_t i = 0; i < kWideBytes; ++i) {
      std::uint64_t const read = byte();
      value |= (read & 0x7FU) << (7U * i);
      if (read < 0x80U) {
        break;
      }
    }
    return value;
  }
  /// Printable characters only, none of the first a blank: it must pass through a trace unchanged.
  std::string text() {
    std::size_t const length =
        std::min<std::size_t>({std::size_t{number()}, bytes_.size(), std::size_t{kReferenceLimit}});
    std::string text(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(length));
    bytes_ = bytes_.subspan(length);
    for (char& c : text) {
      c = c < ' ' || c > '~' ? '?' : c;
    }
    return text.substr(std::min(text.find_first_not_of(' '), text.size()));
  }

 private:
  std::span<std::uint8_t const> bytes_;
};

/// What both directions do with each kind of field.
template <typename Io>
struct FieldCodec {
  Io& io;

  void operator()(char const* /*name*/, std::uint32_t& value) const { io.number(value); }
  void operator()(char const* /*name*/, model::SequenceName& value) const {
    io.choice(value.value, model::kNameLimit);
  }
  void operator()(char const* /*name*/, model::SnapshotName& value) const {
    io.choice(value.value, model::kNameLimit);
  }
  void operator()(char const* /*name*/, model::EntryName& value) const {
    io.choice(value.value, model::kNameLimit);
  }
  void operator()(char const* /*name*/, model::StateMode& value) const {
    choose(value, model::kStateModeCount);
  }
  void operator()(char const* /*name*/, model::Damage& value) const {
    choose(value, model::kDamageCount);
  }
  void operator()(char const* /*name*/, model::FaultKind& value) const {
    choose(value, model::kFaultKindCount);
  }
  /// Tokens with their own keys take one byte.
  void operator()(char const* /*name*/, model::KeyRule& keys) const {
    io.number(keys.period);
    if (!keys.is_own()) {
      io.wide(keys.key);
      io.wide(keys.step);
    }
  }
  /// A write as usual takes one byte.
  void operator()(char const* /*name*/, model::WritePlan& plan) const {
    constexpr std::uint32_t kChoices = model::kLibertyCount * model::kMistakeCount * 2;
    std::uint32_t choice = ((plan.reversed ? 1U : 0U) * model::kMistakeCount +
                            static_cast<std::uint32_t>(plan.mistake)) *
                               model::kLibertyCount +
                           static_cast<std::uint32_t>(plan.liberty);
    std::uint32_t more = plan.part != 0 || plan.via != model::kStreamNames ? 1 : 0;
    std::uint32_t head = choice * 2 + more;
    io.choice(head, 2 * kChoices);
    more = head % 2;
    choice = head / 2;
    plan.liberty = static_cast<model::Liberty>(choice % model::kLibertyCount);
    choice /= model::kLibertyCount;
    plan.mistake = static_cast<model::Mistake>(choice % model::kMistakeCount);
    plan.reversed = choice / model::kMistakeCount != 0;
    if (more != 0) {
      io.number(plan.part);
      io.choice(plan.via, model::kStreamNames + 1);
    }
  }
  template <typename T>
  void operator()(char const* name, T& value, T const& /*fallback*/) const {
    (*this)(name, value);
  }
  void operator()(char const* /*name*/, model::StepParts& items) const {
    std::uint32_t more = items.count == 0 ? 0 : items.count - 1;  // a step has an item
    io.choice(more, model::kStepItemLimit);
    items.count = more + 1;
    for (std::uint32_t i = 0; i < items.count; ++i) {
      part(items.parts[i]);
    }
  }
  void part(StepPart& part) const {
    choose(part.deed, model::kStepDeedCount);
    io.number(part.rows);
    if (part.deed != StepDeed::kPad) {
      io.choice(part.sequence.value, model::kNameLimit);
      io.number(part.keep);
      io.number(part.token);
      choose(part.mode, model::kStateModeCount);
      (*this)("keys", part.keys);
    }
  }
  template <typename Enum>
  void choose(Enum& value, std::uint32_t count) const {
    auto chosen = static_cast<std::uint32_t>(value);
    io.choice(chosen, count);
    value = static_cast<Enum>(chosen);
  }
};

struct Encoder {
  Writer& writer;
  void number(std::uint32_t value) const { writer.number(value); }
  void wide(std::uint64_t value) const { writer.wide(value); }
  void choice(std::uint32_t value, std::uint32_t /*count*/) const { writer.byte(value); }
};

struct Decoder {
  Reader& reader;
  void number(std::uint32_t& value) const { value = reader.number(); }
  void wide(std::uint64_t& value) const { value = reader.wide(); }
  void choice(std::uint32_t& value, std::uint32_t count) const { value = reader.byte() % count; }
};

bool has_known_version(std::span<std::uint8_t const> bytes) {
  return bytes.size() >= 2 && (bytes[1] == kProgramVersion || bytes[1] == kSimProgramVersion);
}

template <typename Io>
void code_fields(Io io, AnyOp& op) {
  FieldCodec<Io> codec{io};
  std::visit([&](auto& known) { known.fields(codec); }, op);
}

}  // namespace

std::vector<std::uint8_t> encode_program(model::Trace const& program) {
  Writer writer;
  writer.byte(kProgramMagic);
  model::DeviceChoice const device = model::device_from(program.device);
  writer.byte(device.is_simulated ? kSimProgramVersion : kProgramVersion);
  if (device.is_simulated) {
    writer.wide(device.seed);
  }
  writer.text(program.geometry);
  for (std::size_t i = 0; i < program.ops.size() && i < kProgramOpLimit; ++i) {
    AnyOp op = program.ops[i];
    writer.byte(static_cast<std::uint32_t>(op.index()));
    code_fields(Encoder{writer}, op);
  }
  return writer.take();
}

model::Trace decode_program(std::span<std::uint8_t const> bytes) {
  model::Trace program;
  if (!is_program(bytes) || !has_known_version(bytes)) {
    return program;
  }
  Reader reader{bytes.subspan(2)};
  if (bytes[1] == kSimProgramVersion) {
    program.device = model::text_of({.is_simulated = true, .seed = reader.wide()});
  }
  program.geometry = reader.text();
  while (!reader.is_at_end() && program.ops.size() < kProgramOpLimit) {
    AnyOp& op = program.ops.emplace_back(plain_op(reader.byte() % AllOps::kCount));
    code_fields(Decoder{reader}, op);
  }
  return program;
}

model::Trace parse_program(std::string const& text, std::string const& origin) {
  if (!is_program(text)) {
    return model::parse_trace(text, origin);
  }
  std::span const bytes{reinterpret_cast<std::uint8_t const*>(text.data()), text.size()};
  if (!has_known_version(bytes)) {
    throw model::InputError{origin + ": is an encoded program, but not of version " +
                            std::to_string(kProgramVersion) + " or " +
                            std::to_string(kSimProgramVersion)};
  }
  model::Trace program = decode_program(bytes);
  if (program.geometry.empty()) {
    throw model::InputError{origin + ": is an encoded program without a geometry"};
  }
  return program;
}

model::Trace load_program(std::string const& path) {
  return parse_program(model::read_file(path), path);
}

}  // namespace holdfast::fuzz
