#include "config/parameter_pattern.h"

#include "config/config_errors.h"

namespace s2s {

namespace {

std::regex compile(const Config& node, std::string_view path) {
  try {
    return std::regex(node.as_string(path), std::regex::ECMAScript);
  } catch (const std::regex_error& error) {
    throw pattern_error(path, node, error.what());
  }
}

}  // namespace

ParameterPattern::ParameterPattern(const Config& node, std::string_view path)
    : regex_(compile(node, path)) {}

bool ParameterPattern::matches(const std::string& name) const {
  return std::regex_search(name, regex_, std::regex_constants::match_continuous);
}

}  // namespace s2s
