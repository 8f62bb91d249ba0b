// SPDX-License-Identifier: Apache-2.0
//
// The version of the library: macros for the headers a program was compiled with, and a function
// for the library it runs with. The build reads the numbers here; they are written nowhere else.
#pragma once

#define CROSSDOCK_VERSION_MAJOR 0
#define CROSSDOCK_VERSION_MINOR 1
#define CROSSDOCK_VERSION_PATCH 0

// One number that grows with every release: 0.1.0 is 100, 1.2.3 is 10203.
#define CROSSDOCK_VERSION \
  (CROSSDOCK_VERSION_MAJOR * 10000 + CROSSDOCK_VERSION_MINOR * 100 + CROSSDOCK_VERSION_PATCH)

namespace crossdock {

// "MAJOR.MINOR.PATCH" of the linked library. Static storage, never null, any thread.
[[nodiscard]] const char* version() noexcept;

}  // namespace crossdock
