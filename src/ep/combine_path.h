// SPDX-License-Identifier: Apache-2.0
// Combine's two paths: which one is taken, and their contracts, beside that of the data protocol:
// what makes an expert row readable, and who may overwrite it. A test checks that the functions
// they name exist. Thread rule: constants.
#pragma once

#include "crossdock/status.h"
#include "crossdock/types.h"
#include "fabric/guarantees.h"
#include "protocol/contract.h"

namespace crossdock::ep {

/// kPull or kPush: kAuto pulls wherever all windows can be loaded.
[[nodiscard]] CombinePath resolve_path(CombinePath wanted, const fabric::Guarantees& guarantees);

/// Whether the fabric can do it; kUnsupported says what is allowed. REQUIRES: kPull or kPush.
Status check_path(CombinePath path, const fabric::Guarantees& guarantees);

/// REQUIRES: kPull or kPush.
const protocol::Contract& combine_contract(CombinePath path);

}  // namespace crossdock::ep
