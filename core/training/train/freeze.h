#pragma once
// Selects the parameters to train: model.freeze_params and model.prevent_freeze_params.

#include <string>
#include <vector>

#include "config/parameter_pattern.h"
#include "s2s/nn/block.h"

namespace s2s {

/// Decides which parameters are frozen. A parameter is frozen when a `freeze` pattern matches the
/// start of its name and no `keep` pattern matches it.
/// Source: NeMo speechlm2 parts/optim_setup.py (Python's re.match; keep wins).
class FreezeRules {
 public:
  /// Errors: [config/pattern].
  FreezeRules(const std::vector<std::string>& freeze, const std::vector<std::string>& keep);

  bool trains(const std::string& name) const;
  /// Returns the freeze patterns that match no parameter name.
  std::vector<std::string> unmatched(const std::vector<NamedTensor>& parameters) const;
  /// Errors: [config/nothing-trainable] when every parameter is frozen.
  void check_some_train(const std::vector<NamedTensor>& parameters) const;

 private:
  std::vector<std::string> texts_;
  std::vector<ParameterPattern> freeze_, keep_;
};

/// Freezes the parameters that the rules select. Returns the patterns that match no parameter.
/// Errors: [config/pattern], [config/nothing-trainable].
std::vector<std::string> freeze_parameters(Block& model, const std::vector<std::string>& freeze,
                                           const std::vector<std::string>& keep);

}  // namespace s2s
