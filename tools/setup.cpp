// SPDX-License-Identifier: Apache-2.0
#include "tools/setup.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <holdfast/cache.hpp>
#include <holdfast/device.hpp>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>

#include "fuzz/codec.hpp"
#include "fuzz/generator.hpp"
#include "fuzz/mutants.hpp"
#include "models/read_file.hpp"
#include "models/target/op.hpp"
#include "tools/process.hpp"

namespace holdfast::tools {

namespace {

/// Memory is promised freely and taken away without a word: what cannot be there is refused before.
void check_memory(Layout const& layout, std::string const& origin) {
  auto const needed = bytes_needed(layout);
  auto const present = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                       static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  if (needed && needed->devices + needed->pinned > present) {
    constexpr double kMebi = 1024.0 * 1024.0;
    throw EnvironmentError{
        fmt::format("{}: its cache needs {:.0f} MiB, this machine has {:.0f} MiB",
                    origin,
                    static_cast<double>(needed->devices + needed->pinned) / kMebi,
                    static_cast<double>(present) / kMebi)};
  }
}

/// "path:line:column" of the geometry in the text of a trace that was parsed before.
std::string place_of_geometry(std::string const& text, std::string const& path) {
  constexpr std::string_view kKey = "geometry";
  std::istringstream file{text};
  std::size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    std::size_t const key = line.find_first_not_of(' ');
    if (key != std::string::npos && line.compare(key, kKey.size(), kKey) == 0) {
      std::size_t const value = line.find_first_not_of(' ', key + kKey.size());
      return fmt::format("{}:{}:{}", path, number, value == std::string::npos ? 1 : value + 1);
    }
  }
  return path;
}

/// Whether a file is the input of a fuzzer, whose names say nothing.
bool is_encoded(std::filesystem::path const& path) {
  std::ifstream file{path, std::ios::binary};
  return file && file.peek() == fuzz::kProgramMagic;
}

bool is_same_file(std::filesystem::path const& one, std::filesystem::path const& other) {
  std::error_code error;
  if (std::filesystem::exists(one, error)) {
    return std::filesystem::is_regular_file(one, error) &&
           std::filesystem::equivalent(one, other, error);
  }
  auto const place = [&](std::filesystem::path const& path) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error);
  };
  return place(one) == place(other);
}

}  // namespace

void check_geometry(model::Geometry const& geometry, std::string const& origin) {
  try {
    fuzz::Generator const generator{geometry.mix};
  } catch (model::InputError const& error) {
    throw model::InputError{origin + ": " + error.what()};
  }
  check_memory(geometry.layout, origin);
  auto const device = make_host_device();
  std::vector<Device*> const devices(std::size_t{geometry.layout.ranks} * geometry.layout.stages,
                                     device.get());
  auto cache = Cache::create(geometry.layout, devices);
  if (cache) {
    return;
  }
  std::string const line = origin + ": " + describe(cache.error());
  if (cache.error().code == ErrorCode::kOutOfMemory) {
    throw EnvironmentError{line};
  }
  throw model::InputError{line};
}

std::vector<model::Geometry> load_geometries(std::vector<std::string> const& names) {
  std::vector<model::Geometry> geometries;
  for (std::string const& name : names.empty() ? model::default_geometry_names() : names) {
    geometries.push_back(model::load_geometry(name));
    check_geometry(geometries.back(), name);
  }
  return geometries;
}

/// Whether it is a trace for an engine other than ours; see --target.
bool is_for_an_engine(std::filesystem::path const& path) {
  try {
    return model::is_engine_trace(model::read_file(path.string()));
  } catch (model::UnreadableFile const&) {
    return false;  // who opens it will say so
  }
}

std::vector<std::string> traces_below(std::string const& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator entry{folder, error}, end;
       !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    if (!entry->is_directory(ignored) && !entry->is_other(ignored) &&
        (entry->path().extension() == ".trace" ? !is_for_an_engine(entry->path())
                                               : is_encoded(entry->path()))) {
      files.push_back(entry->path().string());
    }
  }
  if (error) {
    throw model::InputError{folder + ": cannot be read: " + error.message()};
  }
  if (files.empty()) {
    throw model::InputError{folder + ": the folder has no *.trace file and no fuzzer input"};
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> traces_of(std::vector<std::string> const& paths) {
  std::vector<std::string> files;
  for (std::string const& path : paths) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) {
      std::vector<std::string> const below = traces_below(path);
      files.insert(files.end(), below.begin(), below.end());
    } else {
      files.push_back(path);
    }
  }
  return files;
}

LoadedTrace TraceLoader::load(std::string const& path) {
  std::string const text = model::read_file(path);  // once: of a pipe there is no second time
  if (model::is_engine_trace(text)) {
    throw model::InputError{path + ": it is a program for another engine; say which with --target"};
  }
  LoadedTrace loaded{
      .path = path, .encoded = fuzz::is_program(text), .trace = fuzz::parse_program(text, path)};
  std::shared_ptr<model::Geometry const>& known = geometries_[loaded.trace.geometry];
  if (!known) {
    std::shared_ptr<model::Geometry const> made;
    try {
      made =
          std::make_shared<model::Geometry>(model::geometry_from_reference(loaded.trace.geometry));
    } catch (model::InputError const& error) {
      throw model::InputError{(loaded.encoded ? path : place_of_geometry(text, path)) + ": " +
                              error.what()};
    }
    check_geometry(*made, path);
    known = std::move(made);
  }
  loaded.geometry = known;
  return loaded;
}

LoadedTrace load_runnable(std::string const& path) {
  return TraceLoader{}.load(path);
}

void check_writable(std::string const& path) {
  std::error_code error;
  std::filesystem::path const file{path};
  std::filesystem::path const folder = file.has_parent_path() ? file.parent_path() : ".";
  if (!std::filesystem::is_directory(folder, error)) {
    throw EnvironmentError{path + ": cannot be written: there is no folder " + folder.string()};
  }
  if (path.empty() || std::filesystem::is_directory(file, error)) {
    throw EnvironmentError{path + ": cannot be written: it is no file name"};
  }
}

void check_spares(std::string const& output, std::vector<std::string> const& inputs) {
  for (std::string const& input : inputs) {
    if (is_same_file(output, input)) {
      throw model::InputError{output + ": is read by this command, and would be overwritten"};
    }
  }
}

void append_judging(std::vector<std::string>& words,
                    std::optional<std::string> const& mutant,
                    bool compare) {
  if (mutant) {
    words.insert(words.end(), {"--mutant", *mutant});
  }
  if (!compare) {
    words.emplace_back("--no-compare");
  }
}

void turn_on_mutant(std::optional<std::string> const& name) {
  if (name && !fuzz::select_mutant(*name)) {
    throw EnvironmentError{"the mutant build of the library has no '" + *name + "'"};
  }
}

}  // namespace holdfast::tools
