# Text files as constants of a program.
#
# Included: gives holdfast_embed_geometries(OUT FILES...), which makes OUT at build time.
# As a script: cmake -P EmbedFiles.cmake -- OUT FILES...

if(NOT CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  set(HOLDFAST_EMBED_SCRIPT "${CMAKE_CURRENT_LIST_FILE}")
  function(holdfast_embed_geometries OUT)
    list(TRANSFORM ARGN PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/" OUTPUT_VARIABLE files)
    add_custom_command(
      OUTPUT "${OUT}"
      COMMAND "${CMAKE_COMMAND}" -P "${HOLDFAST_EMBED_SCRIPT}" -- "${OUT}" ${files}
      DEPENDS "${HOLDFAST_EMBED_SCRIPT}" ${files}
      COMMENT "Embedding geometries"
      VERBATIM)
  endfunction()
  return()
endif()

set(out "")
set(table "")
set(count 0)
set(after_dashes OFF)
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(i RANGE ${last})
  set(arg "${CMAKE_ARGV${i}}")
  if(NOT after_dashes)
    if(arg STREQUAL "--")
      set(after_dashes ON)
    endif()
  elseif(out STREQUAL "")
    set(out "${arg}")
  else()
    get_filename_component(name "${arg}" NAME_WLE)
    file(READ "${arg}" text)
    string(FIND "${text}" ")HOLDFAST\"" clash)
    if(NOT clash EQUAL -1)
      message(FATAL_ERROR "${arg}: contains the end mark of its own literal")
    endif()
    string(APPEND table "    {\"${name}\", R\"HOLDFAST(${text})HOLDFAST\"},\n")
    math(EXPR count "${count} + 1")
  endif()
endforeach()

file(WRITE "${out}" "// Made by cmake/EmbedFiles.cmake; do not edit.
#include \"models/geometry/embedded.hpp\"

namespace holdfast::model {

// One empty entry ends the table.
EmbeddedFile const kEmbeddedGeometries[] = {
${table}    {nullptr, nullptr},
};
unsigned const kEmbeddedGeometryCount = ${count};

}  // namespace holdfast::model
")
