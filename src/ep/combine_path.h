// SPDX-License-Identifier: Apache-2.0
// The contracts of combine's two paths, beside that of the data protocol: what makes an expert row
// readable, and who may overwrite it. A test checks that the functions they name exist.
// Thread rule: constants.
#pragma once

#include "crossdock/types.h"
#include "protocol/contract.h"

namespace crossdock::ep {

/// REQUIRES: kPull or kPush.
const protocol::Contract& combine_contract(CombinePath path);

}  // namespace crossdock::ep
