# cmake -P ExpectCompileFailure.cmake -- COMPILER ROOT SRC [-DMACRO=VALUE...] PATTERNS...
#
# Succeeds when SRC does not compile with these definitions and the output contains every pattern.
set(args "")
set(after_dashes OFF)
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(i RANGE ${last})
  if(after_dashes)
    list(APPEND args "${CMAKE_ARGV${i}}")
  elseif(CMAKE_ARGV${i} STREQUAL "--")
    set(after_dashes ON)
  endif()
endforeach()
list(POP_FRONT args compiler root src)
set(definitions ${args})
list(FILTER definitions INCLUDE REGEX "^-D")
list(FILTER args EXCLUDE REGEX "^-D")
if(NOT EXISTS "${src}")
  message(FATAL_ERROR "${src}: no such file")
endif()
if(NOT args)
  message(FATAL_ERROR "${src}: no pattern given; any error would pass")
endif()

execute_process(
  COMMAND "${compiler}" -std=c++20 -fsyntax-only -Wall -Wextra -Werror
    "-I${root}" "-I${root}/lib/include" "-I${root}/lib/src" ${definitions} "${src}"
  RESULT_VARIABLE status
  OUTPUT_VARIABLE output
  ERROR_VARIABLE output)
if(status EQUAL 0)
  message(FATAL_ERROR "${src}: compiled, but must not")
endif()
foreach(pattern IN LISTS args)
  string(FIND "${output}" "${pattern}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "${src}: failed without saying '${pattern}':\n${output}")
  endif()
endforeach()
