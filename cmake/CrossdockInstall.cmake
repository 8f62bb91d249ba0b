# SPDX-License-Identifier: Apache-2.0
# libcrossdock.so and what an outside program needs to use it. Read after the rooms: it takes those
# that exist.

include(CMakePackageConfigHelpers)

# The core's rooms become one library. Their objects are taken as they are: a plain link of the
# static libraries would drop what nobody inside refers to, which is the public API.
set(core_objects)
set(core_libs)
foreach(room IN ITEMS base trace fabric fabric_bootstrap fabric_queue fabric_shm protocol schedule
                      routing collective communicator ep)
  if(TARGET crossdock_${room})
    get_target_property(type crossdock_${room} TYPE)
    if(type STREQUAL "STATIC_LIBRARY")
      list(APPEND core_objects $<TARGET_OBJECTS:crossdock_${room}>)
    endif()
    get_property(room_libs GLOBAL PROPERTY CROSSDOCK_ROOM_LIBS_${room})
    list(APPEND core_libs ${room_libs})
  endif()
endforeach()
list(REMOVE_DUPLICATES core_libs)

if(core_objects)
  add_library(crossdock SHARED ${core_objects})
  set_target_properties(crossdock PROPERTIES VERSION ${PROJECT_VERSION}
                        SOVERSION ${PROJECT_VERSION_MAJOR} LINKER_LANGUAGE CXX)
  target_include_directories(crossdock INTERFACE
                             $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                             $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(crossdock INTERFACE cxx_std_20)
  target_link_libraries(crossdock PRIVATE ${core_libs})
  if(NOT CROSSDOCK_SANITIZE)  # Its run-time library's symbols come from the program.
    target_link_options(crossdock PRIVATE -Wl,--no-undefined)
  endif()
  add_library(crossdock::crossdock ALIAS crossdock)

  set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/crossdock)
  install(TARGETS crossdock EXPORT crossdock-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT crossdock-targets NAMESPACE crossdock:: DESTINATION ${package_dir})
  configure_package_config_file(cmake/crossdock-config.cmake.in crossdock-config.cmake
                                INSTALL_DESTINATION ${package_dir})
  write_basic_package_version_file(crossdock-config-version.cmake
                                   COMPATIBILITY SameMinorVersion)
  install(FILES "${PROJECT_BINARY_DIR}/crossdock-config.cmake"
                "${PROJECT_BINARY_DIR}/crossdock-config-version.cmake"
          DESTINATION ${package_dir})

  set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  file(RELATIVE_PATH crossdock_pc_to_prefix "/${pkgconfig_dir}" "/")
  configure_file(cmake/crossdock.pc.in crossdock.pc @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/crossdock.pc" DESTINATION ${pkgconfig_dir})
endif()

install(DIRECTORY include/crossdock DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")
install(FILES LICENSE NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR})

get_property(fuzzers GLOBAL PROPERTY CROSSDOCK_FUZZERS)
list(JOIN fuzzers "\n" fuzzers)
file(GENERATE OUTPUT "${PROJECT_BINARY_DIR}/fuzzers.txt" CONTENT "${fuzzers}\n")
