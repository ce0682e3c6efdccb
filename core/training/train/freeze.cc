#include "train/freeze.h"

#include <algorithm>

#include "s2s/kinds/backbone.h"
#include "s2s/kinds/model_capabilities.h"
#include "train/train_errors.h"

namespace s2s {
namespace {

const std::string kTable = "embed_tokens.weight";
const std::string kHead = "lm_head.weight";
const std::string kInner = "llm.";
constexpr const char* kAdapter = ".lora_";

std::vector<ParameterPattern> compile(const std::vector<std::string>& texts,
                                      const std::string& key) {
  std::vector<ParameterPattern> patterns;
  for (const std::string& text : texts) patterns.emplace_back(Config::scalar(text, true), key);
  return patterns;
}

/// The head that a tied model's files may have and ours does not: "lm_head.weight", "llm.lm_head.
/// weight", or PEFT's name of the latter.
std::string ignored_head(const NameMap& names) {
  for (const std::string& name : names.ignored) {
    if (name.ends_with(kHead) && name.find('*') == std::string::npos) return name;
  }
  return "";
}

}  // namespace

ForeignParameters foreign_parameters(Block& block) {
  ForeignParameters foreign;
  auto* const model = dynamic_cast<Model*>(&block);
  auto* const with_llm = dynamic_cast<HasLanguageModel*>(&block);
  if (model == nullptr || with_llm == nullptr) return foreign;
  const std::vector<NamedTensor> parameters = block.named_parameters();
  const auto has = [&](const std::string& name) {
    return std::any_of(parameters.begin(), parameters.end(),
                       [&](const NamedTensor& p) { return p.name == name; });
  };
  if (!has(kTable)) return foreign;  // no class of NeMo's: they keep the embedding outside
  const bool is_tied = with_llm->language_model().shape().tied_head;
  const std::string head = is_tied ? ignored_head(model->checkpoint_names()) : "";
  if (!head.empty()) foreign.tied[kTable] = head;
  if (!head.starts_with(kInner) && !has(kInner + kHead)) return foreign;
  for (const NamedTensor& parameter : parameters) {
    const bool is_inside = parameter.name.starts_with(kInner) || parameter.name == kTable;
    if (is_inside && parameter.name.find(kAdapter) == std::string::npos) {
      foreign.frozen_by_adapters.insert(parameter.name);
    }
  }
  return foreign;
}

FreezeRules::FreezeRules(const std::vector<std::string>& freeze,
                         const std::vector<std::string>& keep)
    : texts_(freeze),
      keep_texts_(keep),
      freeze_(compile(freeze, "model.freeze_params")),
      keep_(compile(keep, "model.prevent_freeze_params")) {}

void FreezeRules::of_model(Block& model, bool has_adapters) {
  foreign_ = foreign_parameters(model);
  if (!has_adapters) foreign_.frozen_by_adapters.clear();
}

bool FreezeRules::matches(const ParameterPattern& pattern, const std::string& name) const {
  const auto other = foreign_.tied.find(name);
  return pattern.matches(name) || (other != foreign_.tied.end() && pattern.matches(other->second));
}

bool FreezeRules::any_matches(const std::vector<ParameterPattern>& patterns,
                              const std::string& name) const {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const ParameterPattern& pattern) { return matches(pattern, name); });
}

bool FreezeRules::trains(const std::string& name) const {
  if (foreign_.frozen_by_adapters.count(name) != 0) return false;
  return !any_matches(freeze_, name) || any_matches(keep_, name);
}

std::vector<std::string> FreezeRules::unmatched(const std::vector<NamedTensor>& parameters) const {
  std::vector<std::string> texts;
  for (size_t i = 0; i < freeze_.size(); ++i) {
    const bool found = std::any_of(parameters.begin(), parameters.end(), [&](const NamedTensor& p) {
      return matches(freeze_[i], p.name);
    });
    if (!found) texts.push_back(texts_[i]);
  }
  return texts;
}

std::vector<std::string> FreezeRules::kept_in_vain(
    const std::vector<NamedTensor>& parameters) const {
  std::vector<std::string> texts;
  for (size_t i = 0; i < keep_.size(); ++i) {
    bool is_frozen = false, is_kept = false;
    for (const NamedTensor& p : parameters) {
      const bool is_adapter = p.name.find(kAdapter) != std::string::npos;  // trains anyway
      if (is_adapter || !matches(keep_[i], p.name)) continue;
      const bool is_fixed = foreign_.frozen_by_adapters.count(p.name) != 0;
      (is_fixed ? is_frozen : is_kept) = true;
    }
    if (is_frozen && !is_kept) texts.push_back(keep_texts_[i]);
  }
  return texts;
}

void FreezeRules::check_some_train(const std::vector<NamedTensor>& parameters) const {
  const bool any = std::any_of(parameters.begin(), parameters.end(),
                               [&](const NamedTensor& p) { return trains(p.name); });
  if (!any) throw_nothing_trainable(texts_);
}

void freeze_parameters(Block& model, const FreezeRules& rules) {
  const std::vector<NamedTensor> parameters = model.named_parameters();
  for (const NamedTensor& parameter : parameters) {
    if (!rules.trains(parameter.name)) parameter.tensor->set_requires_grad(false);
  }
  // A part may have frozen its own parameters already, so check requires_grad and not the rules.
  const bool any = std::any_of(parameters.begin(), parameters.end(),
                               [](const NamedTensor& p) { return p.tensor->requires_grad(); });
  if (!any) throw_nothing_trainable(rules.texts());
}

}  // namespace s2s
