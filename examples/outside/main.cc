// SPDX-License-Identifier: Apache-2.0
//
// The smallest program outside the project: it says which crossdock it was compiled against and
// which one it runs with, and fails when they differ.
#include <crossdock/version.h>

#include <iostream>
#include <string>

int main() {
  const std::string compiled = std::to_string(CROSSDOCK_VERSION_MAJOR) + "." +
                               std::to_string(CROSSDOCK_VERSION_MINOR) + "." +
                               std::to_string(CROSSDOCK_VERSION_PATCH);
  std::cout << "compiled with crossdock " << compiled << ", runs with " << crossdock::version()
            << '\n';
  return compiled == crossdock::version() ? 0 : 1;
}
