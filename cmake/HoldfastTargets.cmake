# Flags as interface targets, and the functions that make the targets of this project. Nothing here
# or elsewhere touches CMAKE_CXX_FLAGS.

# Code generation that results depend on. Floats must be the same bits from every compiler, so
# a * b + c is never contracted to one rounding.
add_library(holdfast_codegen INTERFACE)
target_compile_features(holdfast_codegen INTERFACE cxx_std_20)
target_compile_options(holdfast_codegen INTERFACE
  -ffp-contract=off -fno-math-errno $<$<CONFIG:Release>:-O3>)

# A build for the machine that it is made on, after what ran there before: generate and use share a build
# folder, since a profile lies beside its object.
if(HOLDFAST_PROFILE)
  if(NOT HOLDFAST_PROFILE MATCHES "^(generate|use)$" OR NOT CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    message(FATAL_ERROR "HOLDFAST_PROFILE is ${HOLDFAST_PROFILE}, but must be generate or use, with g++")
  endif()
  # g++ 12 sees variables that are not set in its own header of AVX-512.
  set(profile_options -march=native -Wno-uninitialized -Wno-maybe-uninitialized -fprofile-${HOLDFAST_PROFILE})
  if(HOLDFAST_PROFILE STREQUAL use)
    list(APPEND profile_options -fprofile-correction -Wno-missing-profile -Wno-coverage-mismatch)
    set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ON)
  endif()
  target_compile_options(holdfast_codegen INTERFACE ${profile_options})
  target_link_options(holdfast_codegen INTERFACE ${profile_options})
endif()

add_library(holdfast_warnings INTERFACE)
target_compile_options(holdfast_warnings INTERFACE
  -Wall -Wextra -Wno-missing-field-initializers -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wold-style-cast
  -Wnon-virtual-dtor -Wundef -Wcast-align -Wdouble-promotion -Wimplicit-fallthrough -Wswitch
  $<$<CXX_COMPILER_ID:GNU>:-Wduplicated-cond>
  $<$<CXX_COMPILER_ID:GNU>:-Wlogical-op>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> # g++ 12 sees one in "text" + std::string at -O3
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>
  $<$<BOOL:${HOLDFAST_WERROR}>:-Werror>)

add_library(holdfast_sanitizers INTERFACE)
if(HOLDFAST_SANITIZE)
  list(JOIN HOLDFAST_SANITIZE "," holdfast_sanitize)
  # The vptr check needs the run-time types that the library is built without.
  target_compile_options(holdfast_sanitizers INTERFACE
    -fsanitize=${holdfast_sanitize} -fno-sanitize-recover=all -fno-sanitize=vptr
    -fno-omit-frame-pointer
    $<$<CXX_COMPILER_ID:Clang>:-gline-tables-only>) # what reports print
  target_link_options(holdfast_sanitizers INTERFACE -fsanitize=${holdfast_sanitize})
endif()

if(HOLDFAST_COVERAGE)
  target_compile_options(holdfast_sanitizers INTERFACE -fprofile-instr-generate -fcoverage-mapping)
  target_link_options(holdfast_sanitizers INTERFACE -fprofile-instr-generate)
endif()

# What libFuzzer is guided by: the library itself and the parsers. The models and invariants around
# it would cost speed and say nothing of the library.
set(HOLDFAST_GUIDED_OPTIONS "")
if(HOLDFAST_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL Clang)
    message(FATAL_ERROR "HOLDFAST_FUZZ needs clang: cmake --preset fuzz")
  endif()
  list(APPEND HOLDFAST_GUIDED_OPTIONS -fsanitize=fuzzer-no-link)
  if(NOT HOLDFAST_FUZZ_TRACE_CMP)
    list(APPEND HOLDFAST_GUIDED_OPTIONS -fno-sanitize-coverage=trace-cmp)
  endif()
endif()

# What every target of this project is built with.
function(holdfast_flags TARGET)
  target_link_libraries(${TARGET} PRIVATE
    $<BUILD_INTERFACE:holdfast_codegen>
    $<BUILD_INTERFACE:holdfast_warnings>
    $<BUILD_INTERFACE:holdfast_sanitizers>)
  set_target_properties(${TARGET} PROPERTIES CXX_EXTENSIONS OFF)
endfunction()

# The same for code that does not run often: optimizing it takes half of the time of a build. Linked after
# the other flags, whose -O3 it overrides.
add_library(holdfast_seldom INTERFACE)
target_compile_options(holdfast_seldom INTERFACE $<IF:$<BOOL:${HOLDFAST_SANITIZE}>,-O0,-O1>)
function(holdfast_seldom_flags TARGET)
  holdfast_flags(${TARGET})
  target_link_libraries(${TARGET} PRIVATE $<BUILD_INTERFACE:holdfast_seldom>)
endfunction()

# The public headers alone: what the harness is compiled against.
add_library(holdfast_headers INTERFACE)
target_include_directories(holdfast_headers INTERFACE "${PROJECT_SOURCE_DIR}/lib/include")
target_compile_features(holdfast_headers INTERFACE cxx_std_20)
target_compile_definitions(holdfast_headers INTERFACE
  $<$<BOOL:${HOLDFAST_VERIFY}>:HOLDFAST_VERIFY=1>)

# The library a program is linked with: the plain one, or the one with mutants when the program
# has the property HOLDFAST_MUTANTS. So the same objects serve both.
add_library(holdfast_either INTERFACE)
target_link_libraries(holdfast_either INTERFACE
  $<IF:$<BOOL:$<TARGET_PROPERTY:HOLDFAST_MUTANTS>>,holdfast_with_mutants,holdfast>)

# holdfast_core_library(NAME [MUTANTS] SRCS... CUDA_SRCS...): one build of the library itself; MUTANTS
# compiles its mutation points in. Device code is left out without CUDA.
function(holdfast_core_library NAME)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "MUTANTS" "" "SRCS;CUDA_SRCS")
  add_library(${NAME} STATIC ${ARG_SRCS})
  holdfast_flags(${NAME})
  target_compile_features(${NAME} PUBLIC cxx_std_20)
  target_compile_options(${NAME} PRIVATE -fno-exceptions -fno-rtti ${HOLDFAST_GUIDED_OPTIONS})
  target_include_directories(${NAME} PRIVATE "${PROJECT_SOURCE_DIR}/lib/src")
  target_link_libraries(${NAME} PUBLIC $<BUILD_INTERFACE:holdfast_headers>)
  if(NOT ARG_MUTANTS) # each file is small, and one that changes should be compiled alone
    set_target_properties(${NAME} PROPERTIES UNITY_BUILD OFF)
  endif()
  set_target_properties(${NAME} PROPERTIES
    POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  if(ARG_MUTANTS)
    target_compile_definitions(${NAME} PRIVATE HOLDFAST_MUTANTS=1)
  endif()
  if(HOLDFAST_WITH_CUDA)
    holdfast_device_code(${NAME}_device SRCS ${ARG_CUDA_SRCS})
    target_include_directories(${NAME}_device PRIVATE "${PROJECT_SOURCE_DIR}/lib/src")
    if(ARG_MUTANTS)
      target_compile_definitions(${NAME}_device PRIVATE HOLDFAST_MUTANTS=1)
    endif()
    target_compile_definitions(${NAME} PRIVATE HOLDFAST_WITH_CUDA=1)
    target_sources(${NAME} PRIVATE $<TARGET_OBJECTS:${NAME}_device>)
    target_link_libraries(${NAME} PRIVATE CUDA::cudart_static)
  else()
    target_compile_definitions(${NAME} PRIVATE HOLDFAST_WITH_CUDA=0)
  endif()
endfunction()

# holdfast_library(NAME SRCS... DEPS...): a layer of the harness. It sees the public headers and
# the repository root, never lib/src.
function(holdfast_library NAME)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SRCS;DEPS")
  add_library(${NAME} STATIC ${ARG_SRCS})
  holdfast_flags(${NAME})
  target_include_directories(${NAME} PUBLIC "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${NAME}
    PUBLIC holdfast_headers ${ARG_DEPS}
    INTERFACE holdfast_either)
endfunction()

# holdfast_program(NAME OUTPUT file [MUTANTS] DEPS...): an executable; MUTANTS links the mutant
# build of the library.
function(holdfast_program NAME)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "MUTANTS" "OUTPUT" "SRCS;DEPS")
  add_executable(${NAME} ${ARG_SRCS})
  holdfast_flags(${NAME})
  set_target_properties(${NAME} PROPERTIES
    OUTPUT_NAME ${ARG_OUTPUT} HOLDFAST_MUTANTS ${ARG_MUTANTS})
  target_link_libraries(${NAME} PRIVATE ${ARG_DEPS} holdfast_either)
endfunction()
