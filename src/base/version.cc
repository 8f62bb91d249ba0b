// SPDX-License-Identifier: Apache-2.0
#include "crossdock/version.h"

// Two steps, so that the argument is expanded before it is quoted.
#define CROSSDOCK_QUOTE_(x) #x
#define CROSSDOCK_QUOTE(x) CROSSDOCK_QUOTE_(x)

namespace crossdock {

const char* version() noexcept {
  return CROSSDOCK_QUOTE(CROSSDOCK_VERSION_MAJOR) "." CROSSDOCK_QUOTE(
      CROSSDOCK_VERSION_MINOR) "." CROSSDOCK_QUOTE(CROSSDOCK_VERSION_PATCH);
}

}  // namespace crossdock
