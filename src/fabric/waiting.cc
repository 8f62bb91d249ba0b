// SPDX-License-Identifier: Apache-2.0
#include "fabric/waiting.h"

#include "fabric/wait_board.h"

namespace crossdock::fabric {

WaitSession::~WaitSession() {
  if (board != nullptr) {
    board->clear();
  }
}

}  // namespace crossdock::fabric
