// The message of a data error.
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <string>

#include "s2s/error.h"

namespace s2s::test {

/// The message with which `call` ends; "" when it does not fail. Checks that it is a data error.
inline std::string data_error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    CHECK(error.exit_code() == ExitCode::kData);
    return error.what();
  }
  return "";
}

}  // namespace s2s::test
