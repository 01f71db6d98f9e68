# holdfast_target_objects(NAME SRCS...): objects for fuzz targets, compiled once for all programs that
# are made of them.
function(holdfast_target_objects NAME)
  add_library(${NAME} OBJECT ${ARGN})
  holdfast_flags(${NAME})
  target_link_libraries(${NAME} PUBLIC holdfast_fuzz)
  if(HOLDFAST_FUZZ)
    target_compile_definitions(${NAME} PRIVATE HOLDFAST_LIBFUZZER=1)
    target_compile_options(${NAME} PRIVATE ${HOLDFAST_GUIDED_OPTIONS})
  endif()
endfunction()

# holdfast_dictionary(FROM TO): FROM with the names of the operations, as models/ops has them.
function(holdfast_dictionary FROM TO)
  file(GLOB headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/models/ops/*.hpp")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${FROM}" ${headers})
  file(READ "${FROM}" text)
  foreach(header IN LISTS headers)
    file(STRINGS "${header}" lines REGEX "kName = \"")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE ".*kName = (\"[a-z_]+\");.*" "\\1" name "${line}")
      string(APPEND text "${name}\n")
    endforeach()
  endforeach()
  file(CONFIGURE OUTPUT "${TO}" CONTENT "${text}" @ONLY)
endfunction()

# holdfast_fuzz_target(NAME [LIKE OTHER] SRCS... OBJECTS...): the program NAME, with the dictionary and options of
# OTHER, and NAME-mutants over the mutant build of the
# library. With HOLDFAST_FUZZ libFuzzer drives them; otherwise they run inputs again, and a test runs
# them over their seeds.
function(holdfast_fuzz_target NAME)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "LIKE" "SRCS;OBJECTS")
  set(model ${NAME})
  if(ARG_LIKE)
    set(model ${ARG_LIKE})
  endif()
  holdfast_target_objects(${NAME}_objects ${ARG_SRCS})
  holdfast_program(${NAME} OUTPUT ${NAME} DEPS ${NAME}_objects ${ARG_OBJECTS})
  holdfast_program(${NAME}_with_mutants OUTPUT ${NAME}-mutants MUTANTS DEPS ${NAME}_objects ${ARG_OBJECTS})
  holdfast_dictionary("${CMAKE_CURRENT_SOURCE_DIR}/${model}.dict" "${CMAKE_CURRENT_BINARY_DIR}/${NAME}.dict")
  if(HOLDFAST_FUZZ)
    foreach(program ${NAME} ${NAME}_with_mutants)
      target_link_options(${program} PRIVATE -fsanitize=fuzzer)
      # Beside the program, where fleets look for them.
      set(beside "$<TARGET_FILE_DIR:${program}>/$<TARGET_FILE_BASE_NAME:${program}>")
      add_custom_command(TARGET ${program} POST_BUILD
        COMMAND "${CMAKE_COMMAND}" -E copy "${CMAKE_CURRENT_BINARY_DIR}/${NAME}.dict" "${beside}.dict"
        COMMAND "${CMAKE_COMMAND}" -E copy "${CMAKE_CURRENT_SOURCE_DIR}/${model}.options" "${beside}.options"
        VERBATIM)
    endforeach()
  elseif(HOLDFAST_BUILD_TESTS)
    set(seeds "${CMAKE_CURRENT_BINARY_DIR}/seeds/${NAME}")
    add_test(NAME fuzz_seeds.${NAME}.make COMMAND ${NAME} "--make-seeds=${seeds}")
    add_test(NAME fuzz_seeds.${NAME}.run COMMAND ${NAME} "${seeds}")
    set_tests_properties(fuzz_seeds.${NAME}.make PROPERTIES FIXTURES_SETUP ${NAME}_seeds)
    set_tests_properties(fuzz_seeds.${NAME}.run PROPERTIES FIXTURES_REQUIRED ${NAME}_seeds)
    set_tests_properties(fuzz_seeds.${NAME}.make fuzz_seeds.${NAME}.run PROPERTIES
      LABELS harness TIMEOUT 180)
  endif()
endfunction()
