# Installs the build, then builds and runs a program against what was installed: with find_package,
# and with pkg-config alone. Last, a shared library that holds the whole archive must export nothing
# of it.
file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")
set(prefix "${WORK}/prefix")

function(run)
  execute_process(COMMAND ${ARGN}
    WORKING_DIRECTORY "${WORK}" RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE err)
  if(NOT code EQUAL 0)
    list(JOIN ARGN " " line)
    message(FATAL_ERROR "${line}: exit code ${code}\n${out}${err}")
  endif()
  set(out "${out}" PARENT_SCOPE)
endfunction()

function(expect_first_cache)
  if(NOT out MATCHES "position after accept: 10\nposition after rollback: 8\n")
    message(FATAL_ERROR "the program printed:\n${out}")
  endif()
endfunction()

run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${prefix}")
foreach(file share/man/man1/holdfast.1 share/bash-completion/completions/holdfast)
  file(READ "${prefix}/${file}" text)
  if(NOT text MATCHES "rollback_leaves_latent_length")
    message(FATAL_ERROR "${file} does not know what the program knows:\n${text}")
  endif()
endforeach()
run("${prefix}/bin/holdfast" run --ops 1000 --mutant two_plane_snapshot --no-compare --help)

run("${CMAKE_COMMAND}" -S "${FOREIGN}" -B foreign -DCMAKE_BUILD_TYPE=Release
  "-DCMAKE_PREFIX_PATH=${prefix}" "-DCMAKE_CXX_COMPILER=${CXX}" "-DSOURCE=${SOURCE}")
run("${CMAKE_COMMAND}" --build foreign)
run("${WORK}/foreign/engine")
expect_first_cache()

find_program(pkg_config NAMES pkg-config pkgconf REQUIRED)
file(GLOB_RECURSE pc "${prefix}/*/holdfast.pc")
get_filename_component(pc_dir "${pc}" DIRECTORY)
set(ENV{PKG_CONFIG_PATH} "${pc_dir}")
run("${pkg_config}" --define-variable=prefix=${prefix} --cflags --libs holdfast)
separate_arguments(flags UNIX_COMMAND "${out}")
run("${CXX}" -std=c++20 "${SOURCE}" -o with_pkg_config ${flags})
run("${WORK}/with_pkg_config")
expect_first_cache()

file(GLOB plugin "${WORK}/foreign/libplugin.*")
run("${NM}" -D --defined-only --extern-only "${plugin}")
if(NOT out MATCHES " T plugin_entry\n")
  message(FATAL_ERROR "the plugin does not export its own function:\n${out}")
endif()
string(REGEX MATCHALL "[^\n]*holdfast[^\n]*" leaked "${out}")
if(leaked)
  list(JOIN leaked "\n" leaked)
  message(FATAL_ERROR "the archive exports symbols into whoever holds it:\n${leaked}")
endif()
