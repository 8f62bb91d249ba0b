# SPDX-License-Identifier: Apache-2.0
# Tests. Without CROSSDOCK_TESTS the functions do nothing, so that rooms may call them always.

if(CROSSDOCK_TESTS)
  include(CTest)
  include(GoogleTest)
endif()

set(crossdock_test_labels unit property fault e2e mutant slow lint)

# tests_<label> and tests_<first folder of a room> build some of the tests, for partial runs.
set(crossdock_test_groups ${crossdock_test_labels} base trace fabric protocol schedule routing
                          collective communicator ep report explore cli)
if(CROSSDOCK_TESTS)
  foreach(group IN LISTS crossdock_test_groups)
    add_custom_target(tests_${group})
  endforeach()
endif()

function(crossdock_group_test target)
  string(REGEX MATCH "^[a-z]+" room "${target}")
  foreach(group IN ITEMS ${ARGN} ${room})
    if(TARGET tests_${group})
      add_dependencies(tests_${group} ${target})
    endif()
  endforeach()
endfunction()

function(crossdock_check_labels)
  foreach(label IN LISTS ARGN)
    if(NOT label IN_LIST crossdock_test_labels)
      message(FATAL_ERROR "Unknown test label '${label}'; allowed: ${crossdock_test_labels}")
    endif()
  endforeach()
endfunction()

# crossdock_test(NAME base_status_test SOURCES status_test.cc DEPS base LIBS ... LABELS unit
#                [TIMEOUT s] [PROCESSORS n] [ARGS ...] [SINGLE] [SERIAL] [NO_MAIN])
#
# A GoogleTest program. Each case is one ctest entry "NAME/Suite.Case"; SINGLE registers the whole
# program as the one entry NAME, for suites of many quick cases. NAME begins with the room's name.
# PROCESSORS is how many cores the test keeps busy; SERIAL keeps every other test away; NO_MAIN is
# for sources with their own main(). GTest, GMock and RapidCheck are linked.
function(crossdock_test)
  if(NOT CROSSDOCK_TESTS)
    return()
  endif()
  cmake_parse_arguments(arg "SINGLE;SERIAL;NO_MAIN" "NAME;TIMEOUT;PROCESSORS"
                        "SOURCES;DEPS;LIBS;LABELS;ARGS" ${ARGN})
  if(NOT arg_NAME OR NOT arg_SOURCES OR NOT arg_LABELS OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "crossdock_test: need NAME, SOURCES and LABELS; not understood: "
                        "'${arg_UNPARSED_ARGUMENTS}'")
  endif()
  crossdock_check_labels(${arg_LABELS})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  if(CROSSDOCK_SANITIZE)
    math(EXPR arg_TIMEOUT "${arg_TIMEOUT} * 3")
  endif()
  if(NOT arg_PROCESSORS)
    set(arg_PROCESSORS 1)
  endif()

  add_executable(${arg_NAME} ${arg_SOURCES})
  target_include_directories(${arg_NAME} PRIVATE "${PROJECT_SOURCE_DIR}/src"
                             "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${arg_NAME} PRIVATE ${arg_LIBS} rapidcheck GTest::gmock GTest::gtest)
  if(NOT arg_NO_MAIN)
    target_link_libraries(${arg_NAME} PRIVATE GTest::gmock_main)
  endif()
  crossdock_link(${arg_NAME} PRIVATE ${arg_DEPS})
  crossdock_group_test(${arg_NAME} ${arg_LABELS})

  set(properties TIMEOUT ${arg_TIMEOUT} PROCESSORS ${arg_PROCESSORS})
  if(arg_SERIAL)
    list(APPEND properties RUN_SERIAL TRUE)
  endif()
  if(arg_SINGLE)
    add_test(NAME ${arg_NAME} COMMAND ${arg_NAME} ${arg_ARGS})
    set_tests_properties(${arg_NAME} PROPERTIES ${properties} LABELS "${arg_LABELS}")
  else()
    gtest_discover_tests(${arg_NAME} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
                         TEST_PREFIX "${arg_NAME}/" EXTRA_ARGS ${arg_ARGS}
                         PROPERTIES ${properties})
    # The discovery script splits a list of labels, so they are set by a script read after it.
    set(labels_file "${CMAKE_CURRENT_BINARY_DIR}/${arg_NAME}_labels.cmake")
    file(WRITE "${labels_file}" "if(${arg_NAME}_TESTS)\n  set_tests_properties("
         "\${${arg_NAME}_TESTS} PROPERTIES LABELS \"${arg_LABELS}\")\nendif()\n")
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${labels_file}")
  endif()
endfunction()

# crossdock_fuzzer(NAME npy_fuzz SOURCES npy_fuzz.cc DEPS base [LIBS ...] [CORPUS folder])
#
# SOURCES define LLVMFuzzerTestOneInput. With CROSSDOCK_FUZZ the program is a libFuzzer one, listed
# in <build>/fuzzers.txt as "path corpus". Without, a small main runs the corpus and seeded random
# inputs, as one ctest entry labelled unit.
function(crossdock_fuzzer)
  if(NOT CROSSDOCK_TESTS)
    return()
  endif()
  cmake_parse_arguments(arg "" "NAME;CORPUS" "SOURCES;DEPS;LIBS" ${ARGN})
  if(NOT arg_NAME OR NOT arg_SOURCES OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "crossdock_fuzzer: need NAME and SOURCES; not understood: "
                        "'${arg_UNPARSED_ARGUMENTS}'")
  endif()
  set(corpus)
  if(arg_CORPUS)
    cmake_path(ABSOLUTE_PATH arg_CORPUS NORMALIZE OUTPUT_VARIABLE corpus)
  endif()
  add_executable(${arg_NAME} ${arg_SOURCES})
  target_include_directories(${arg_NAME} PRIVATE "${PROJECT_SOURCE_DIR}/src"
                                                 "${PROJECT_SOURCE_DIR}/include")
  target_link_libraries(${arg_NAME} PRIVATE ${arg_LIBS})
  crossdock_link(${arg_NAME} PRIVATE ${arg_DEPS})
  if(CROSSDOCK_FUZZ)
    target_link_options(${arg_NAME} PRIVATE -fsanitize=fuzzer)
    set_property(GLOBAL APPEND PROPERTY CROSSDOCK_FUZZERS "$<TARGET_FILE:${arg_NAME}> ${corpus}")
  else()
    target_sources(${arg_NAME} PRIVATE "${PROJECT_SOURCE_DIR}/cmake/fuzz_replay_main.cc")
    crossdock_group_test(${arg_NAME} unit)
    add_test(NAME ${arg_NAME} COMMAND ${arg_NAME} ${corpus})
    set_tests_properties(${arg_NAME} PROPERTIES LABELS unit TIMEOUT 120)
  endif()
endfunction()

# crossdock_script_test(NAME x COMMAND ... LABELS ... [TIMEOUT s] [SERIAL]): a script as a test.
function(crossdock_script_test)
  if(NOT CROSSDOCK_TESTS)
    return()
  endif()
  cmake_parse_arguments(arg "SERIAL" "NAME;TIMEOUT" "COMMAND;LABELS" ${ARGN})
  if(NOT arg_NAME OR NOT arg_COMMAND OR NOT arg_LABELS OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "crossdock_script_test: need NAME, COMMAND and LABELS; not understood: "
                        "'${arg_UNPARSED_ARGUMENTS}'")
  endif()
  crossdock_check_labels(${arg_LABELS})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_test(NAME ${arg_NAME} COMMAND ${arg_COMMAND} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set_tests_properties(${arg_NAME} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT})
  if(arg_SERIAL)
    set_tests_properties(${arg_NAME} PROPERTIES RUN_SERIAL TRUE)
  endif()
endfunction()
