#pragma once
// Selects the parameters to train: model.freeze_params and model.prevent_freeze_params.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "config/parameter_pattern.h"
#include "s2s/nn/block.h"

namespace s2s {

/// NeMo's names of a model's parameters for patterns, and parameters that adapters freeze
/// permanently.
struct ForeignParameters {
  /// Our name -> NeMo's. A table that is both embedding and head has the head's name: torch names a
  /// parameter once, and NeMo's classes register the head first.
  std::map<std::string, std::string> tied;
  /// For a class whose language model contains its head: PEFT freezes all of it, with the
  /// embedding, before NeMo applies patterns. Source: peft get_peft_model; NeMo speechlm2
  /// parts/lora.py, parts/optim_setup.py.
  std::set<std::string> frozen_by_adapters;
};
ForeignParameters foreign_parameters(Block& model);

/// Decides which parameters are frozen. A parameter is frozen when a `freeze` pattern matches the
/// start of its name and no `keep` pattern matches it.
/// Source: NeMo speechlm2 parts/optim_setup.py (Python's re.match; keep wins).
class FreezeRules {
 public:
  /// Errors: [config/pattern].
  FreezeRules(const std::vector<std::string>& freeze, const std::vector<std::string>& keep);

  /// Uses the names of `model` from now on: patterns also see NeMo's names of tied tables.
  /// `has_adapters`: of model.lora; then no pattern keeps what they freeze.
  void of_model(Block& model, bool has_adapters);

  bool trains(const std::string& name) const;
  /// Returns the freeze patterns that match no parameter name.
  std::vector<std::string> unmatched(const std::vector<NamedTensor>& parameters) const;
  /// Returns the `keep` patterns of the user that match only what adapters freeze.
  std::vector<std::string> kept_in_vain(const std::vector<NamedTensor>& parameters) const;
  const std::vector<std::string>& texts() const { return texts_; }
  /// Errors: [config/nothing-trainable] when every parameter is frozen.
  void check_some_train(const std::vector<NamedTensor>& parameters) const;

 private:
  bool any_matches(const std::vector<ParameterPattern>& patterns, const std::string& name) const;
  bool matches(const ParameterPattern& pattern, const std::string& name) const;

  std::vector<std::string> texts_, keep_texts_;
  std::vector<ParameterPattern> freeze_, keep_;
  ForeignParameters foreign_;
};

/// Freezes the parameters that the rules select. Errors: [config/nothing-trainable].
void freeze_parameters(Block& model, const FreezeRules& rules);

}  // namespace s2s
