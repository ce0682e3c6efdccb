#include "train/freeze.h"

#include <algorithm>

#include "train/train_errors.h"

namespace s2s {
namespace {

std::vector<ParameterPattern> compile(const std::vector<std::string>& texts,
                                      const std::string& key) {
  std::vector<ParameterPattern> patterns;
  for (const std::string& text : texts) patterns.emplace_back(Config::scalar(text, true), key);
  return patterns;
}

bool any_matches(const std::vector<ParameterPattern>& patterns, const std::string& name) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const ParameterPattern& pattern) { return pattern.matches(name); });
}

}  // namespace

FreezeRules::FreezeRules(const std::vector<std::string>& freeze,
                         const std::vector<std::string>& keep)
    : texts_(freeze),
      freeze_(compile(freeze, "model.freeze_params")),
      keep_(compile(keep, "model.prevent_freeze_params")) {}

bool FreezeRules::trains(const std::string& name) const {
  return !any_matches(freeze_, name) || any_matches(keep_, name);
}

std::vector<std::string> FreezeRules::unmatched(const std::vector<NamedTensor>& parameters) const {
  std::vector<std::string> texts;
  for (size_t i = 0; i < freeze_.size(); ++i) {
    const bool found = std::any_of(parameters.begin(), parameters.end(), [&](const NamedTensor& p) {
      return freeze_[i].matches(p.name);
    });
    if (!found) texts.push_back(texts_[i]);
  }
  return texts;
}

void FreezeRules::check_some_train(const std::vector<NamedTensor>& parameters) const {
  const bool any = std::any_of(parameters.begin(), parameters.end(),
                               [&](const NamedTensor& p) { return trains(p.name); });
  if (!any) throw_nothing_trainable(texts_);
}

std::vector<std::string> freeze_parameters(Block& model, const std::vector<std::string>& freeze,
                                           const std::vector<std::string>& keep) {
  const FreezeRules rules(freeze, keep);
  const std::vector<NamedTensor> parameters = model.named_parameters();
  for (const NamedTensor& parameter : parameters) {
    if (!rules.trains(parameter.name)) parameter.tensor->set_requires_grad(false);
  }
  // A part may have frozen its own parameters already, so check requires_grad and not the rules.
  const bool any = std::any_of(parameters.begin(), parameters.end(),
                               [](const NamedTensor& p) { return p.tensor->requires_grad(); });
  if (!any) throw_nothing_trainable(freeze);
  return rules.unmatched(parameters);
}

}  // namespace s2s
