// SPDX-License-Identifier: Apache-2.0
// The geometry files of this folder as text inside the program. The table is made at build time
// from the list in models/CMakeLists.txt, in that order; its users parse, they never touch files.
#pragma once

namespace holdfast::model {

struct EmbeddedFile {
  char const* name;  // file name without folder and extension
  char const* text;  // the whole file, ended by a zero byte
};

/// `kEmbeddedGeometryCount` files, then one entry of null pointers.
// NOLINTBEGIN(modernize-avoid-c-arrays, readability-identifier-naming): made by a script
extern EmbeddedFile const kEmbeddedGeometries[];
extern unsigned const kEmbeddedGeometryCount;
// NOLINTEND(modernize-avoid-c-arrays, readability-identifier-naming)

}  // namespace holdfast::model
