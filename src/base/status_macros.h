// SPDX-License-Identifier: Apache-2.0
// Passing errors up in one line.
#pragma once

#include <utility>

#include "crossdock/status.h"

#define CROSSDOCK_CONCAT_INNER(a, b) a##b
#define CROSSDOCK_CONCAT(a, b) CROSSDOCK_CONCAT_INNER(a, b)

/// Returns the Status of `expression` from the enclosing function when it is not ok.
#define CROSSDOCK_RETURN_IF_ERROR(expression)                                        \
  do {                                                                               \
    if (::crossdock::Status crossdock_status = (expression); !crossdock_status.ok()) \
      return crossdock_status;                                                       \
  } while (false)

/// CROSSDOCK_ASSIGN_OR_RETURN(const auto value, f()): declares or assigns, or returns f()'s error.
#define CROSSDOCK_ASSIGN_OR_RETURN(declaration, expression)                                       \
  CROSSDOCK_ASSIGN_OR_RETURN_INNER(CROSSDOCK_CONCAT(crossdock_result_, __COUNTER__), declaration, \
                                   expression)
#define CROSSDOCK_ASSIGN_OR_RETURN_INNER(result, declaration, expression) \
  auto result = (expression);                                             \
  if (!result.ok()) return result.status();                               \
  declaration = std::move(result).value()
