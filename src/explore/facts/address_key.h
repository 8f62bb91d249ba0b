// SPDX-License-Identifier: Apache-2.0
// What an address expression is about: the helper that computes it, or the variable or member that
// it starts from. Thread rule: pure function.
#pragma once

#include <string>

#include "explore/model.h"
#include "explore/parse/parameters.h"

namespace crossdock::explore {

/// "get_count_ptr" of "layout.get_count_ptr<true>(rank) + 1", and of a local variable that was
/// initialised with it; "tail" of "channel->tail[i]". Empty when there is no name.
[[nodiscard]] std::string address_key(const SourceFile& file, const Function& function,
                                      TokenRange expression);

}  // namespace crossdock::explore
