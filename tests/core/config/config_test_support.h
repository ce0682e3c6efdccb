#pragma once
// What the tests of configuration share.

#include <doctest/doctest.h>

#include <fstream>
#include <string>

#include "config/yaml_reader.h"
#include "s2s/error.h"

namespace s2s::test {

inline Config yaml(const std::string& text) { return parse_yaml(text, "test.yaml"); }

/// The what() of the Error that `action` throws; "" when it throws none.
template <class Action>
std::string error_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    CHECK(error.exit_code() == ExitCode::kConfig);
    return error.what();
  }
  return "";
}

}  // namespace s2s::test
