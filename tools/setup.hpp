// SPDX-License-Identifier: Apache-2.0
// What commands need before they start.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/geometry/geometry.hpp"
#include "models/trace.hpp"

namespace holdfast::tools {

/// Throws InputError, with `origin` in front, for a geometry that cannot be run, and
/// EnvironmentError when there is no memory for it.
void check_geometry(model::Geometry const& geometry, std::string const& origin);

/// Loads and checks geometries; none stands for the default ones.
std::vector<model::Geometry> load_geometries(std::vector<std::string> const& names);

/// A trace that is ready to run.
struct LoadedTrace {
  std::string path;
  bool encoded = false;  // it was the input of a fuzzer
  model::Trace trace;
  std::shared_ptr<model::Geometry const> geometry;
};

/// Every trace and fuzzer input in a folder and below it, sorted. Throws InputError when it cannot be
/// read or has none.
std::vector<std::string> traces_below(std::string const& folder);
/// The files among the paths, and those below the folders among them, likewise.
std::vector<std::string> traces_of(std::vector<std::string> const& paths);

/// Loads traces one after the other. A geometry that many of them name is read and checked once.
class TraceLoader {
 public:
  /// Reads a trace or the input of a fuzzer. Throws InputError that says where in the file what is wrong,
  /// and EnvironmentError when there is no memory for its geometry.
  LoadedTrace load(std::string const& path);

 private:
  std::map<std::string, std::shared_ptr<model::Geometry const>> geometries_;  // by reference
};

/// Loads one trace.
LoadedTrace load_runnable(std::string const& path);

/// Throws EnvironmentError, in good time, for a path where no file can be written.
void check_writable(std::string const& path);
/// Throws InputError when a file that is to be written is one of those that are read.
void check_spares(std::string const& output, std::vector<std::string> const& inputs);

/// Adds the options that a command line needs to judge as this one did.
void append_judging(std::vector<std::string>& words,
                    std::optional<std::string> const& mutant,
                    bool compare);

/// Turns a mutant on, when there is one to turn on.
void turn_on_mutant(std::optional<std::string> const& name);

}  // namespace holdfast::tools
