// SPDX-License-Identifier: Apache-2.0
// Geometries: layouts with names, read from JSON. Some are built in, users bring others as files.
//
//   {"name": "x", "page_rows": 4, "chunk_pages": 2, "ranks": 1,
//    "capacity": {"sequences": 4, "tokens": 64, "largest_round": 8, "snapshots": 6,
//                 "step_rows": 0, "slots": 0, "pages": 40, "ring_pages": 0},
//    "layers": [{"repeat": 3, "planes": [{"kind": "recurrent", "conv_segments": [8, 8, 8],
//                                         "kernel": 4, "heads": 1, "d_k": 8, "d_v": 8}]},
//               {"planes": [{"kind": "attention_kv", "heads": 2, "head_dim": 4, "format": "f32"},
//                           {"kind": "latent", "width": 16},
//                           {"kind": "indexer", "index_width": 8, "pool": 4, "key_width": 4,
//                            "ring_rows": 16}]},
//               {"repeat": 2, "layers": [{"planes": []}]}],
//    "mix": {"mean_rows": 6, "weights": {"append": 30}}}
//
// `name`, `capacity` with `tokens`, `layers` and the sizes of addressed planes must be there; what
// else is missing keeps the default of its field in holdfast/layout.hpp, or the weight that the
// operation has itself; a stage holds for the layers after it, too. Anything that is not understood is refused.
//
// "full_size": true says that the sizes are those of a model and not for a machine of every day.
// Geometries may name what models have and the library lacks - sliding windows, draft planes,
// quantized rows: they are listed with what they lack, and refused when they are to be run.
#pragma once

#include <cstdint>
#include <holdfast/layout.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/input_error.hpp"
#include "models/observation.hpp"

namespace holdfast::model {

/// What a geometry says of the operations of its programs.
struct OperationMix {
  /// Weights by operation name, in the order of names, that differ from those which the operations have
  /// themselves. Names are not checked here: operations are not known to geometries.
  std::vector<std::pair<std::string, unsigned>> weights;
  unsigned mean_rows = kMeanRows;  ///< mean length of an append; at least 1
};

struct Geometry {
  std::string name;
  std::string text;  ///< the JSON that it came from, on one line, keys in order
  Layout layout;     ///< accepted by holdfast::validate; without the planes that are lacking
  OperationMix mix;
  /// What the library lacks to run it, e.g. "sliding-window KV (layer 0 and 17 others)".
  std::vector<std::string> lacks;
  bool full_size = false;
  bool built_in = false;
  /// What was changed of it, "page_rows=4 slots=3"; `text` and `layout` have it.
  std::string overrides;
};

/// A size that is changed, by its name in the text: page_rows, chunk_pages, or one of the capacities.
using Override = std::pair<std::string, std::uint32_t>;

/// Names of the built-in geometries, in order.
std::vector<std::string> built_in_geometry_names();

/// Those that are run when nobody names one: neither of full size nor lacking anything.
std::vector<std::string> default_geometry_names();

/// Reads a built-in geometry, or a file when the argument ends in ".json" or has a '/', to be run. Behind
/// the name of a built-in one may stand sizes: "tiny page_rows=2 slots=3".
///
/// Errors: InputError for an unknown name or size, a file that cannot be read, all that parse_geometry
/// refuses, and a geometry that lacks something
Geometry load_geometry(std::string const& name_or_path);

/// The same to be looked at: it may lack something.
Geometry read_geometry(std::string const& name_or_path);

/// Reads a geometry from its text; messages begin with `origin`. It may lack something.
///
/// Errors: InputError for bad JSON (origin:line:column), for a key or value that is missing,
/// unknown or of a wrong type (JSON path), and for a layout that holdfast::validate refuses (layer,
/// field)
Geometry parse_geometry(std::string_view json_text, std::string const& origin);

/// The geometry with other sizes.
///
/// Errors: InputError for an unknown size, one that is given twice, and what parse_geometry refuses
Geometry with_overrides(Geometry const& geometry, std::vector<Override> changes);

/// Reads "page_rows=4 slots=3"; messages begin with `origin`.
///
/// Errors: InputError for an unknown size and for what is no number
std::vector<Override> parse_overrides(std::string_view words, std::string const& origin);

/// The name, and what was changed.
std::string label(Geometry const& geometry);

/// What a trace writes after "geometry ": the name of a built-in one and what was changed of it,
/// otherwise the text.
std::string geometry_reference(Geometry const& geometry);

/// The geometry of such a reference, to be run. It never reads a file.
///
/// Errors: InputError for an unknown name, all that parse_geometry refuses, and a geometry that lacks
/// something
Geometry geometry_from_reference(std::string const& reference);

}  // namespace holdfast::model
