# SPDX-License-Identifier: Apache-2.0
# Rooms: one static library per folder under src/, so that the linker sees the same layers as
# tools/layers.toml.

function(crossdock_add_directory directory)
  if(EXISTS "${PROJECT_SOURCE_DIR}/${directory}/CMakeLists.txt")
    add_subdirectory(${directory})
  endif()
endfunction()

# Links rooms by their short names. A room that is not there is left out, and crossdock_check_deps()
# reports it at the end of the configure step.
function(crossdock_link target scope)
  foreach(dep IN LISTS ARGN)
    target_link_libraries(${target} ${scope} $<TARGET_NAME_IF_EXISTS:crossdock_${dep}>)
    set_property(GLOBAL APPEND PROPERTY CROSSDOCK_DEP_EDGES "${target}>${dep}")
  endforeach()
endfunction()

# Tells of every DEPS entry that names no room.
function(crossdock_check_deps)
  get_property(edges GLOBAL PROPERTY CROSSDOCK_DEP_EDGES)
  foreach(edge IN LISTS edges)
    string(REPLACE ">" ";" edge "${edge}")
    list(GET edge 0 target)
    list(GET edge 1 dep)
    if(NOT TARGET crossdock_${dep})
      message(WARNING "${target} depends on the room '${dep}', which does not exist")
    endif()
  endforeach()
endfunction()

# One object library that includes every header alone, twice: it compiles when each header brings
# all that it needs. Built by the target headers_check only.
function(crossdock_headers_check name)
  cmake_parse_arguments(arg "" "" "HEADERS;LINK" ${ARGN})
  set(sources)
  foreach(header IN LISTS arg_HEADERS)
    string(MAKE_C_IDENTIFIER "${header}" stem)
    set(source "${PROJECT_BINARY_DIR}/headers_check/${stem}.cc")
    set(crossdock_header "${header}")
    configure_file("${PROJECT_SOURCE_DIR}/cmake/header_alone.cc.in" "${source}" @ONLY)
    list(APPEND sources "${source}")
  endforeach()
  if(NOT sources)
    return()
  endif()
  add_library(${name}_headers OBJECT EXCLUDE_FROM_ALL ${sources})
  target_include_directories(${name}_headers PRIVATE "${PROJECT_SOURCE_DIR}/src"
                                                     "${PROJECT_SOURCE_DIR}/include")
  target_link_libraries(${name}_headers PRIVATE ${arg_LINK})
  if(NOT TARGET headers_check)
    add_custom_target(headers_check COMMENT "Every header compiles alone")
  endif()
  add_dependencies(headers_check ${name}_headers)
endfunction()

function(crossdock_public_headers_check)
  file(GLOB headers CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/include"
       "${PROJECT_SOURCE_DIR}/include/crossdock/*.h")
  crossdock_headers_check(crossdock_public HEADERS ${headers})
endfunction()

# crossdock_room(NAME fabric_shm SOURCES a.cc ... HEADERS a.h ... DEPS base ... LIBS fmt::fmt ...)
#
# Makes the PIC static library crossdock_<NAME>, alias crossdock::<NAME>. Paths are relative to the
# calling folder. DEPS are rooms by short name (fabric/shm is fabric_shm), LIBS third-party targets;
# both are public, for headers show them. Includes read "fabric/shm/x.h" and "crossdock/x.h". A room
# without SOURCES is header-only.
function(crossdock_room)
  cmake_parse_arguments(arg "" "NAME" "SOURCES;HEADERS;DEPS;LIBS" ${ARGN})
  if(NOT arg_NAME OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "crossdock_room: need NAME; not understood: '${arg_UNPARSED_ARGUMENTS}'")
  endif()
  set(target crossdock_${arg_NAME})
  if(arg_SOURCES)
    set(scope PUBLIC)
    add_library(${target} STATIC ${arg_SOURCES} ${arg_HEADERS})
  else()
    set(scope INTERFACE)
    add_library(${target} INTERFACE)
  endif()
  add_library(crossdock::${arg_NAME} ALIAS ${target})
  target_include_directories(${target} ${scope} "${PROJECT_SOURCE_DIR}/src"
                                                "${PROJECT_SOURCE_DIR}/include")
  target_link_libraries(${target} ${scope} ${arg_LIBS})
  crossdock_link(${target} ${scope} ${arg_DEPS})
  set_property(GLOBAL PROPERTY CROSSDOCK_ROOM_LIBS_${arg_NAME} "${arg_LIBS}")

  file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}/src" "${CMAKE_CURRENT_SOURCE_DIR}")
  list(TRANSFORM arg_HEADERS PREPEND "${folder}/")
  crossdock_headers_check(${target} HEADERS ${arg_HEADERS} LINK ${target})
endfunction()

# crossdock_program(NAME crossdock_cli OUTPUT crossdock SOURCES main.cc DEPS ... LIBS ...
#                   [DESTINATION bin])
#
# An executable at <build>/<DESTINATION>/<OUTPUT>, installed at <prefix>/<DESTINATION>/<OUTPUT>: a
# program finds its neighbours by the same relative path in both.
function(crossdock_program)
  cmake_parse_arguments(arg "" "NAME;OUTPUT;DESTINATION" "SOURCES;DEPS;LIBS" ${ARGN})
  if(NOT arg_NAME OR NOT arg_SOURCES OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "crossdock_program: need NAME and SOURCES; not understood: "
                        "'${arg_UNPARSED_ARGUMENTS}'")
  endif()
  if(NOT arg_OUTPUT)
    set(arg_OUTPUT ${arg_NAME})
  endif()
  if(NOT arg_DESTINATION)
    set(arg_DESTINATION bin)
  endif()
  add_executable(${arg_NAME} ${arg_SOURCES})
  set_target_properties(${arg_NAME} PROPERTIES OUTPUT_NAME ${arg_OUTPUT}
                        RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/${arg_DESTINATION}")
  target_include_directories(${arg_NAME} PRIVATE "${PROJECT_SOURCE_DIR}/src"
                             "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${arg_NAME} PRIVATE ${arg_LIBS})
  crossdock_link(${arg_NAME} PRIVATE ${arg_DEPS})
  install(TARGETS ${arg_NAME} RUNTIME DESTINATION ${arg_DESTINATION})
endfunction()

# crossdock_peer(NAME mpi_alltoallv SOURCES ... DEPS ... LIBS ...): a program that bench compares
# with, at libexec/crossdock/peers/<NAME> in the build folder and in the prefix.
function(crossdock_peer)
  crossdock_program(${ARGN} DESTINATION libexec/crossdock/peers)
endfunction()
