# Functions that make tests. Labels: unit contract property fault harness regression mutation
# exhaustive tidy slow slurm gpu compile_fail; ./dev test leaves out slow.
find_package(GTest CONFIG REQUIRED)
find_package(rapidcheck CONFIG REQUIRED)
include(GoogleTest)

set(HOLDFAST_TEST_LABELS
  unit contract property fault harness regression mutation exhaustive tidy slow slurm gpu compile_fail)

# Expectations are most of the code of a test and take no time to run: what they drive is optimized.
# Linked after holdfast_flags(), whose options it overrides.
add_library(holdfast_expectations INTERFACE)
target_compile_options(holdfast_expectations INTERFACE -O0)

function(holdfast_check_labels NAME)
  if(NOT ARGN)
    message(FATAL_ERROR "test ${NAME} has no label")
  endif()
  foreach(label IN LISTS ARGN)
    if(NOT label IN_LIST HOLDFAST_TEST_LABELS)
      message(FATAL_ERROR "test ${NAME}: unknown label ${label}")
    endif()
  endforeach()
endfunction()

# holdfast_test(NAME x SRCS... [PLAIN_SRCS...] DEPS... LABELS... [MUTANTS] [PLAIN] [ENVIRONMENT A=b...])
#
# A GoogleTest program x and one ctest "x.Suite.Test" for each test in it. It links the library by itself, the mutant
# build with MUTANTS. PLAIN says that sanitizers would see nothing new in it: with them it is neither built nor run;
# PLAIN_SRCS says so of some of its files.
# DEPS names harness layers, or holdfast_internal to see lib/src.
function(holdfast_test)
  cmake_parse_arguments(PARSE_ARGV 0 ARG "MUTANTS;PLAIN" "NAME" "SRCS;PLAIN_SRCS;DEPS;LABELS;ENVIRONMENT")
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "test ${ARG_NAME}: what is ${ARG_UNPARSED_ARGUMENTS}?")
  endif()
  holdfast_check_labels(${ARG_NAME} ${ARG_LABELS})
  if(NOT HOLDFAST_SANITIZE)
    list(APPEND ARG_SRCS ${ARG_PLAIN_SRCS})
  endif()
  add_executable(${ARG_NAME} ${ARG_SRCS})
  holdfast_flags(${ARG_NAME})
  target_link_libraries(${ARG_NAME} PRIVATE holdfast_expectations)
  if(TARGET holdfast_test_headers)
    target_precompile_headers(${ARG_NAME} REUSE_FROM holdfast_test_headers)
  endif()
  set_target_properties(${ARG_NAME} PROPERTIES HOLDFAST_MUTANTS ${ARG_MUTANTS})
  target_include_directories(${ARG_NAME} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${ARG_NAME} PRIVATE ${ARG_DEPS} holdfast_either GTest::gtest_main)
  if(HOLDFAST_SANITIZE AND ARG_PLAIN)
    set_target_properties(${ARG_NAME} PROPERTIES EXCLUDE_FROM_ALL ON)
    return()
  endif()
  gtest_discover_tests(${ARG_NAME}
    TEST_PREFIX ${ARG_NAME}.
    TEST_LIST ${ARG_NAME}_tests
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60)
  # gtest_discover_tests() drops all but the first element of a property that is a list.
  set(properties "${CMAKE_CURRENT_BINARY_DIR}/${ARG_NAME}_properties.cmake")
  file(WRITE "${properties}" "if(${ARG_NAME}_tests)
  set_tests_properties(\${${ARG_NAME}_tests} PROPERTIES
    TIMEOUT 600 LABELS \"${ARG_LABELS}\" ENVIRONMENT \"${ARG_ENVIRONMENT}\")
endif()
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${properties}")
endfunction()

# holdfast_compile_fail_test(NAME SRC [-DMACRO=VALUE...] PATTERNS...)
#
# Passes when SRC does not compile with these definitions and the compiler's output contains every
# pattern, literally. Choose patterns that g++ and clang share.
function(holdfast_compile_fail_test NAME SRC)
  add_test(NAME compile_fail.${NAME}
    COMMAND "${CMAKE_COMMAND}" -P "${PROJECT_SOURCE_DIR}/cmake/ExpectCompileFailure.cmake" --
      "${CMAKE_CXX_COMPILER}" "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}/${SRC}" ${ARGN})
  set_tests_properties(compile_fail.${NAME} PROPERTIES LABELS compile_fail TIMEOUT 180)
endfunction()
