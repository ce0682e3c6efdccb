#pragma once
// The plugins that tests/fixtures/plugins builds, and a host that sees chosen ones.

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "common/contains.h"
#include "common/places.h"
#include "plugin/plugin_host.h"

namespace s2s::test {

inline std::string fixture_dir(const std::string& fixture) {
  return s2s::test::binary_dir() + "/tests/fixtures/plugins/" + fixture;
}

/// The only plugin file of a fixture's folder.
inline std::string fixture_file(const std::string& fixture) {
  for (const auto& entry : std::filesystem::directory_iterator(fixture_dir(fixture))) {
    if (entry.path().extension() == ".so") return entry.path().string();
  }
  return fixture_dir(fixture) + "/missing.so";
}

/// Inputs whose search path is the folders of these fixtures, in this order.
inline SearchInputs fixture_inputs(const std::vector<std::string>& fixtures) {
  SearchInputs inputs;
  for (const std::string& name : fixtures) inputs.command_line.push_back(fixture_dir(name));
  inputs.executable = "/nowhere/bin/s2s-run";
  return inputs;
}

/// The error that `action` throws; an error of id "none" when it throws nothing.
template <class F>
Error error_of(F&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  return Error(ExitCode::kOk, "none", "");
}

}  // namespace s2s::test
