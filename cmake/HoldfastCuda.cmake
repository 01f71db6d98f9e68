# Sets HOLDFAST_WITH_CUDA, and gives holdfast_device_code(). The toolkit is used when it is there, never
# installed; nothing here needs a device.
set(HOLDFAST_WITH_CUDA OFF)
if(NOT HOLDFAST_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "HOLDFAST_CUDA is ${HOLDFAST_CUDA}, but must be AUTO, ON or OFF")
endif()
if(HOLDFAST_CUDA STREQUAL "OFF" OR
   (HOLDFAST_CUDA STREQUAL "AUTO" AND (HOLDFAST_SANITIZE OR HOLDFAST_FUZZ OR HOLDFAST_COVERAGE)))
  return()
endif()
find_program(HOLDFAST_NVCC nvcc HINTS "$ENV{CUDA_PATH}/bin" /usr/local/cuda/bin)
mark_as_advanced(HOLDFAST_NVCC)
if(NOT HOLDFAST_NVCC)
  if(HOLDFAST_CUDA STREQUAL "ON")
    message(FATAL_ERROR "HOLDFAST_CUDA is ON, but nvcc was not found")
  endif()
  return()
endif()

set(CMAKE_CUDA_COMPILER "${HOLDFAST_NVCC}")
if(NOT DEFINED CMAKE_CUDA_HOST_COMPILER)
  set(CMAKE_CUDA_HOST_COMPILER g++)
endif()
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 90) # Hopper's machine code, and PTX for what comes after
endif()
enable_language(CUDA)
find_package(CUDAToolkit 13.0 REQUIRED)
set(HOLDFAST_WITH_CUDA ON)

# holdfast_device_code(NAME SRCS...): an object library of CUDA sources. Numbers as on the host: nothing
# is contracted, divisions and square roots are exact, subnormals are kept.
function(holdfast_device_code NAME)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SRCS")
  add_library(${NAME} OBJECT ${ARG_SRCS})
  target_compile_options(${NAME} PRIVATE
    -std=c++20 -fmad=false -ftz=false -prec-div=true -prec-sqrt=true --expt-relaxed-constexpr
    -Xcompiler=-ffp-contract=off,-Wall,-Wextra,-Wno-missing-field-initializers
    $<$<BOOL:${HOLDFAST_WERROR}>:-Werror=all-warnings>
    $<$<CONFIG:Release>:-O3>)
  target_link_libraries(${NAME} PRIVATE holdfast_headers)
  set_target_properties(${NAME} PROPERTIES
    POSITION_INDEPENDENT_CODE ON CUDA_VISIBILITY_PRESET hidden)
endfunction()
