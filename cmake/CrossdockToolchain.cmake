# SPDX-License-Identifier: Apache-2.0
# Warnings, sanitizers, coverage, ccache and mold: everything that holds for every target.

add_compile_options(-Wall -Wextra -Wconversion -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
                    -Wundef)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wno-restrict)  # g++ 12 sees overlaps in std::string's own operator+.
endif()
if(CROSSDOCK_WERROR)
  add_compile_options(-Werror)
endif()

if(CROSSDOCK_SANITIZE)
  add_compile_options(-fsanitize=${CROSSDOCK_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${CROSSDOCK_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ 12 reports false "maybe uninitialized" and bounds warnings on instrumented code.
    add_compile_options(-Wno-error=maybe-uninitialized -Wno-error=array-bounds
                        -Wno-error=stringop-overflow)
  endif()
endif()
if(CROSSDOCK_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "CROSSDOCK_FUZZ needs clang; the compiler is ${CMAKE_CXX_COMPILER}")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(CROSSDOCK_COVERAGE)
  add_compile_options(--coverage -fprofile-update=atomic)
  add_link_options(--coverage)
endif()

find_program(CROSSDOCK_CCACHE ccache)
mark_as_advanced(CROSSDOCK_CCACHE)
if(CROSSDOCK_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Paths below the project count as relative, so that every clone and every build folder of the
  # same preset share results.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1
      "${CROSSDOCK_CCACHE}")
endif()
find_program(CROSSDOCK_MOLD mold)
mark_as_advanced(CROSSDOCK_MOLD)
if(CROSSDOCK_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
