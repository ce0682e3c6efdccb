#include "config/parameter_pattern.h"

#include <stdexcept>

#include "config/config_errors.h"

namespace s2s {

namespace {

Regex compile(const Config& node, std::string_view path) {
  try {
    return Regex(node.as_string(path));
  } catch (const std::invalid_argument& error) {
    throw pattern_error(path, node, error.what());
  }
}

}  // namespace

ParameterPattern::ParameterPattern(const Config& node, std::string_view path)
    : regex_(compile(node, path)), node_(node), path_(path) {}

bool ParameterPattern::matches(const std::string& name) const {
  try {
    return regex_.matches_start(name);
  } catch (const std::runtime_error& error) {
    throw pattern_error(path_, node_, error.what());
  }
}

}  // namespace s2s
