# What the harness uses; the library itself needs none of it. Debian packages only (see ./dev).
find_package(Threads REQUIRED)
find_package(nlohmann_json CONFIG REQUIRED)
find_package(fmt CONFIG REQUIRED)
find_package(CLI11 CONFIG REQUIRED)
find_package(Boost CONFIG REQUIRED COMPONENTS graph)

find_path(HOLDFAST_XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
find_library(HOLDFAST_XXHASH_LIBRARY xxhash REQUIRED)
mark_as_advanced(HOLDFAST_XXHASH_INCLUDE_DIR HOLDFAST_XXHASH_LIBRARY)
add_library(holdfast_xxhash UNKNOWN IMPORTED)
set_target_properties(holdfast_xxhash PROPERTIES
  IMPORTED_LOCATION "${HOLDFAST_XXHASH_LIBRARY}"
  INTERFACE_INCLUDE_DIRECTORIES "${HOLDFAST_XXHASH_INCLUDE_DIR}")

# Tests need it; the tool has one search less without it.
find_package(rapidcheck CONFIG QUIET)
