#include "train/freeze.h"

#include <regex>

#include "train/train_errors.h"

namespace s2s {
namespace {

std::regex compile(const std::string& pattern, const std::string& key) {
  try {
    return std::regex(pattern, std::regex::ECMAScript);
  } catch (const std::regex_error& error) {
    throw_bad_pattern(pattern, key, error.what());
  }
}

bool matches(const std::regex& pattern, const std::string& name) {
  return std::regex_search(name, pattern, std::regex_constants::match_continuous);
}

}  // namespace

bool pattern_matches(const std::string& pattern, const std::string& name, const std::string& key) {
  return matches(compile(pattern, key), name);
}

std::vector<std::string> freeze_parameters(Block& model, const std::vector<std::string>& freeze,
                                           const std::vector<std::string>& keep) {
  std::vector<std::regex> kept;
  for (const std::string& pattern : keep) {
    kept.push_back(compile(pattern, "model.prevent_freeze_params"));
  }
  const auto is_kept = [&](const std::string& name) {
    return std::any_of(kept.begin(), kept.end(),
                       [&](const std::regex& pattern) { return matches(pattern, name); });
  };
  std::vector<std::string> unmatched;
  const std::vector<NamedTensor> parameters = model.named_parameters();
  for (const std::string& pattern : freeze) {
    const std::regex compiled = compile(pattern, "model.freeze_params");
    bool found = false;
    for (const NamedTensor& parameter : parameters) {
      if (!matches(compiled, parameter.name)) continue;
      found = true;
      if (!is_kept(parameter.name)) parameter.tensor->set_requires_grad(false);
    }
    if (!found) unmatched.push_back(pattern);
  }
  const bool any = std::any_of(parameters.begin(), parameters.end(),
                               [](const NamedTensor& p) { return p.tensor->requires_grad(); });
  if (!any) throw_nothing_trainable(freeze);
  return unmatched;
}

}  // namespace s2s
