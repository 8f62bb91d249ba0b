# SPDX-License-Identifier: Apache-2.0
# Parts made by others, under one name each, for the LIBS argument of the crossdock_* functions:
#   fmt::fmt  hwy::hwy  Boost::context  xxhash::xxhash  sodium::sodium  asio::asio
#   nlohmann_json::nlohmann_json  CLI11::CLI11  hwloc::hwloc  tree_sitter::tree_sitter
#   httplib::httplib  Threads::Threads  MPI::MPI_CXX  gloo  OpenMP::OpenMP_CXX  GTest::gmock
#   rapidcheck  benchmark::benchmark
# The core needs the first six and threads. Of the others the target is absent when the package is.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(hwy REQUIRED)
find_package(Boost REQUIRED COMPONENTS context)

# A package that has a pkg-config file only. crossdock_pkg_config(sodium libsodium [REQUIRED])
function(crossdock_pkg_config name module)
  pkg_check_modules(${name} ${ARGN} IMPORTED_TARGET GLOBAL ${module})
  if(TARGET PkgConfig::${name})
    add_library(${name}::${name} ALIAS PkgConfig::${name})
  endif()
endfunction()
crossdock_pkg_config(sodium libsodium REQUIRED)
crossdock_pkg_config(xxhash libxxhash REQUIRED)
crossdock_pkg_config(hwloc hwloc)
crossdock_pkg_config(tree_sitter tree-sitter)
crossdock_pkg_config(httplib cpp-httplib)

find_path(ASIO_INCLUDE_DIR asio.hpp REQUIRED)
mark_as_advanced(ASIO_INCLUDE_DIR)
add_library(asio::asio INTERFACE IMPORTED GLOBAL)
target_include_directories(asio::asio SYSTEM INTERFACE "${ASIO_INCLUDE_DIR}")
target_compile_definitions(asio::asio INTERFACE ASIO_STANDALONE ASIO_NO_DEPRECATED)
target_link_libraries(asio::asio INTERFACE Threads::Threads)

find_package(nlohmann_json)
find_package(CLI11)
if(CROSSDOCK_BENCH)
  find_package(benchmark QUIET)
  # Without the compiler wrappers' link flags: the C interface is all that the peers use.
  set(MPI_CXX_SKIP_MPICXX ON)
  find_package(MPI COMPONENTS CXX QUIET)
  find_package(OpenMP COMPONENTS CXX QUIET)
  find_package(Gloo QUIET)  # The target gloo.
endif()
if(CROSSDOCK_TESTS)
  find_package(GTest REQUIRED)
  find_package(rapidcheck REQUIRED)
endif()
