// SPDX-License-Identifier: Apache-2.0
#include "tools/targets.hpp"

#include <filesystem>
#include <system_error>

#include "fuzz/campaign/libfuzzer.hpp"
#include "tools/process.hpp"
#include "tools/subprocess.hpp"

namespace holdfast::tools {
namespace {

namespace fs = std::filesystem;

std::string file_of(std::string const& name, bool with_mutants) {
  return name + (with_mutants ? "-mutants" : "");
}

}  // namespace

std::string in_preset(std::string const& preset, std::string const& program) {
  fs::path const presets = fs::path{beside("")}.parent_path().parent_path().parent_path();
  return (presets / preset / "bin" / program).string();
}

std::string driven_target(std::string const& name, bool with_mutants) {
  std::string const file = file_of(name, with_mutants);
  for (std::string const& path : {beside(file), in_preset("fuzz", file)}) {
    std::error_code error;
    if (fs::exists(path, error) && fuzz::is_driven(path)) {
      return path;
    }
  }
  return "";
}

std::string required_target(std::string const& name, bool with_mutants) {
  std::string path = driven_target(name, with_mutants);
  if (path.empty()) {
    throw EnvironmentError{beside(file_of(name, with_mutants)) +
                           ": the target is not built with libFuzzer; the preset fuzz does that"};
  }
  return path;
}

}  // namespace holdfast::tools
