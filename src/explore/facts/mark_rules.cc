// SPDX-License-Identifier: Apache-2.0
// The rules of marks.h in words.
#include <array>
#include <span>

#include "explore/facts/marks.h"

namespace crossdock::explore {
namespace {

constexpr std::array<MarkRule, 19> kRules = {{
    {"unreachable/never-referenced", "never referenced",
     "no root reaches it and its name occurs nowhere else", "suspect"},
    {"unreachable/only-from-unreachable", "only from unreachable code",
     "all that refers to it is unreachable, too", "hint"},
    {"unreachable/only-in-comments", "referenced in comments only",
     "its name occurs elsewhere, but only in comments", "suspect"},
    {"unreachable/compiled-out", "compiled out",
     "it, or every reference to it, lies under a condition that never holds", "suspect"},
    {"placeholder/empty", "empty body", "the body has no statement", "suspect"},
    {"placeholder/constant", "returns a constant", "the body only returns a constant", "suspect"},
    {"placeholder/not-implemented", "not implemented", "the body says that it is not implemented",
     "suspect"},
    {"placeholder/arguments-voided", "arguments voided",
     "all that the body does with its arguments is to silence warnings", "suspect"},
    {"placeholder/later", "left for later", "its first lines say that work is still to be done",
     "hint"},
    {"layout-missing", "layout missing",
     "a layout type or address helper is used and defined nowhere in the tree", "suspect"},
    {"parameter-never-read", "parameter never read", "the body never reads a named parameter",
     "hint"},
    {"size-without-consumer", "size without consumer",
     "a size, offset or byte count is computed and never used", "suspect"},
    {"budget-without-writer", "budget without writer",
     "a limit, credit or budget is tested and nothing ever writes it", "suspect"},
    {"version-family", "version family", "functions whose names differ by a version", "hint"},
    {"commented-out/call", "call in a comment", "a call of a function of the tree in a comment",
     "hint"},
    {"commented-out/barrier", "barrier in a comment", "a barrier, fence or wait in a comment",
     "suspect"},
    {"publisher-without-waiter", "publisher without waiter",
     "a flag or signal that is written and never waited for", "suspect"},
    {"waiter-without-publisher", "waiter without publisher",
     "a flag or signal that is waited for and never written", "suspect"},
    {"store-without-release", "store without release",
     "a store to a shared window with no fence, flag or barrier on the way out", "suspect"},
}};

}  // namespace

std::span<const MarkRule> mark_rules() { return kRules; }

}  // namespace crossdock::explore
