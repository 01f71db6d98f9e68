// SPDX-License-Identifier: Apache-2.0
// Goal: every program has one byte form that brings it back, and all bytes are a program. Method:
// round trips of generated programs on every geometry; random bytes, and valid ones with random
// damage, decoded, printed and read again.
#include "fuzz/codec.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "fuzz/runner.hpp"
#include "models/geometry/geometry.hpp"
#include "models/input_error.hpp"
#include "models/source.hpp"

namespace holdfast::fuzz {
namespace {

using Bytes = std::vector<std::uint8_t>;

model::Trace generated(std::string const& geometry, std::uint64_t seed) {
  Runner runner{model::load_geometry(geometry), {}};
  static_cast<void>(runner.run_seed(seed));
  return {.geometry = geometry, .ops = runner.ops()};
}

Bytes random_bytes(model::Source& source, std::uint32_t most) {
  Bytes bytes(source.below(most + 1));
  for (std::uint8_t& byte : bytes) {
    byte = static_cast<std::uint8_t>(source.below(256));
  }
  return bytes;
}

/// Decodes, and checks what must hold of anything that was decoded.
model::Trace decoded(Bytes const& bytes) {
  model::Trace const program = decode_program(bytes);
  EXPECT_LE(program.ops.size(), kProgramOpLimit);
  Bytes const again = encode_program(program);
  EXPECT_EQ(model::print_trace(decode_program(again)), model::print_trace(program));
  EXPECT_EQ(encode_program(decode_program(again)), again);
  if (!program.geometry.empty() && !program.ops.empty()) {
    std::string const text = model::print_trace(program);
    EXPECT_EQ(model::print_trace(model::parse_trace(text, "decoded")), text);
  }
  return program;
}

TEST(ProgramCodec, GeneratedProgramsComeBack) {
  for (std::string const& geometry : model::default_geometry_names()) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      model::Trace const program = generated(geometry, seed);
      ASSERT_FALSE(program.ops.empty());
      EXPECT_EQ(model::print_trace(decoded(encode_program(program))), model::print_trace(program));
    }
  }
}

TEST(ProgramCodec, TheTextOfAGeometryComesBack) {
  std::string const text =
      R"({"name":"x","capacity":{"tokens":8},"layers":[{"planes":[{"kind":"latent","width":4}]}]})";
  model::Trace const program{.geometry = text, .ops = {model::CreateOp{}}};
  EXPECT_EQ(model::print_trace(decoded(encode_program(program))), model::print_trace(program));
}

TEST(ProgramCodec, SimulatedDevicesComeBack) {
  for (std::uint64_t const seed : {std::uint64_t{0},
                                   std::uint64_t{127},
                                   std::uint64_t{128},
                                   std::uint64_t{1} << 32U,
                                   UINT64_MAX}) {
    model::Trace const program{.geometry = "tiny",
                               .device = model::text_of({.is_simulated = true, .seed = seed}),
                               .ops = {model::CreateOp{}, model::CloseOp{}}};
    EXPECT_EQ(model::print_trace(decoded(encode_program(program))), model::print_trace(program));
  }
  // A seed that never ends takes what follows it: all the rest.
  EXPECT_TRUE(decoded(Bytes(40, 0xFF)).ops.empty());
  Bytes bytes(40, 0xFF);
  bytes[0] = kProgramMagic;
  bytes[1] = kSimProgramVersion;
  EXPECT_EQ(decoded(bytes).device, model::text_of({.is_simulated = true, .seed = UINT64_MAX}));
}

TEST(ProgramCodec, AllBytesAreAProgram) {
  model::Source source{20240701};
  std::size_t ops = 0;
  for (int i = 0; i < 20'000; ++i) {
    Bytes bytes = {kProgramMagic, i % 2 == 0 ? kProgramVersion : kSimProgramVersion};
    Bytes const rest = random_bytes(source, 100);
    bytes.insert(bytes.end(), rest.begin(), rest.end());
    ops += decoded(bytes).ops.size();
  }
  EXPECT_GT(ops, 16'000U);
}

TEST(ProgramCodec, DamagedProgramsAreOtherPrograms) {
  model::Source source{7};
  Bytes const whole = encode_program(generated("tiny", 3));
  for (int i = 0; i < 5'000; ++i) {
    Bytes bytes = whole;
    bytes.resize(source.between(0, static_cast<std::uint32_t>(bytes.size())));
    for (int edits = 0; edits < 3 && !bytes.empty(); ++edits) {
      bytes[source.below(static_cast<std::uint32_t>(bytes.size()))] =
          static_cast<std::uint8_t>(source.below(256));
    }
    static_cast<void>(decoded(bytes));
  }
}

TEST(ProgramCodec, OtherBytesAreTheEmptyProgram) {
  for (Bytes const& bytes :
       {Bytes{}, Bytes{kProgramMagic}, Bytes{kProgramMagic, 2, 0, 0}, Bytes{'h', 'o', 'l', 'd'}}) {
    model::Trace const program = decode_program(bytes);
    EXPECT_TRUE(program.geometry.empty());
    EXPECT_TRUE(program.ops.empty());
  }
}

TEST(ProgramCodec, NumbersAreCutToTheirLimit) {
  model::Trace const program{.geometry = "tiny",
                             .ops = {model::AppendOp{{63}, UINT32_MAX, kNumberLimit, 1, 1}}};
  model::Trace const back = decode_program(encode_program(program));
  ASSERT_EQ(back.ops.size(), 1U);
  EXPECT_EQ(model::text_of(back.ops[0]),
            "append sequence=s63 rows=16777216 token=16777216 piece=1 view=1");
}

TEST(ProgramCodec, ProgramsAreCutToTheirLimit) {
  std::vector<model::AnyOp> const ops(kProgramOpLimit + 1, model::CloseOp{});
  EXPECT_EQ(encode_program({.geometry = "tiny", .ops = ops}).size(), 2 + 5 + kProgramOpLimit);
  Bytes bytes = encode_program({.geometry = "tiny", .ops = ops});
  bytes.push_back(bytes.back());
  EXPECT_EQ(decode_program(bytes).ops.size(), kProgramOpLimit);
}

TEST(ProgramCodec, FilesAreTracesOrPrograms) {
  std::string folder = ::testing::TempDir() + "/holdfast-codec-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  auto const write = [&](std::string const& name, Bytes const& bytes) {
    std::ofstream{folder + "/" + name, std::ios::binary}.write(
        reinterpret_cast<char const*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return folder + "/" + name;
  };
  auto const refusal = [](std::string const& path) {
    try {
      static_cast<void>(load_program(path));
    } catch (model::InputError const& error) {
      return std::string{error.what()};
    }
    return std::string{"was read"};
  };
  model::Trace const program = generated("tiny", 1);
  std::string const text = model::print_trace(program);
  EXPECT_EQ(model::print_trace(load_program(write("bytes", encode_program(program)))), text);
  EXPECT_EQ(model::print_trace(load_program(write("text", {text.begin(), text.end()}))), text);
  std::string const other = write("other", {kProgramMagic, 9, 0});
  EXPECT_EQ(refusal(other), other + ": is an encoded program, but not of version 5 or 6");
  std::string const bare = write("bare", {kProgramMagic, kProgramVersion});
  EXPECT_EQ(refusal(bare), bare + ": is an encoded program without a geometry");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace holdfast::fuzz
