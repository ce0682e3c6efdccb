#pragma once
// The components of a plugin that `plugin check` tests against their interfaces.

#include <string>
#include <utility>
#include <vector>

#include "s2s/registry.h"

namespace s2s::run {

/// What was asked, what was answered, and what could not be asked.
class AskedComponents {
 public:
  /// `id`: "metric:acme.count". `answers`: what broken_promises returned.
  void add(const std::string& id, const std::vector<std::string>& answers);
  /// `reason`: "needs options".
  void leave_out(const std::string& id, const std::string& reason);
  /// "metric:a and logger:b; not run: ...". Errors: [plugin/promises] with all answers.
  std::string result() const;

 private:
  std::vector<std::string> asked_, left_out_, findings_;
};

/// Asks optimizers, schedules, metrics, loggers and scorers that can be built with their tiny
/// options, or else with their defaults. Leaves the other kinds out, except for those that are
/// built from tiny options only (language models, encoders, codecs).
void ask_other_components(const Registries& staging, AskedComponents& asked);

}  // namespace s2s::run
