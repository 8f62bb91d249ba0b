# SPDX-License-Identifier: Apache-2.0
# cmake -DINPUT=default.rules -DOUTPUT=default_rules.cc -P embed.cmake
file(READ "${INPUT}" text)
file(WRITE "${OUTPUT}" "// Made from default.rules by embed.cmake.
#include <string_view>

#include \"explore/source/rules.h\"

namespace crossdock::explore {
std::string_view default_rules_text() { return R\"rules(${text})rules\"; }
}  // namespace crossdock::explore
")
