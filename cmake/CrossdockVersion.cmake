# SPDX-License-Identifier: Apache-2.0
# The version lives in include/crossdock/version.h only; CMake reads it from there.
set(crossdock_version_header "${CMAKE_CURRENT_LIST_DIR}/../include/crossdock/version.h")
file(STRINGS "${crossdock_version_header}" crossdock_version_lines
     REGEX "#define CROSSDOCK_VERSION_(MAJOR|MINOR|PATCH) [0-9]+")
string(REGEX REPLACE "[^0-9;]" "" crossdock_version_parts "${crossdock_version_lines}")
string(REPLACE ";" "." crossdock_version "${crossdock_version_parts}")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${crossdock_version_header}")
