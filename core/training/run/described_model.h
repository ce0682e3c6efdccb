#pragma once
// The model of a configuration, described but without memory.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plan/mesh.h"
#include "s2s/config.h"
#include "s2s/kinds/backbone.h"
#include "s2s/parallel/plan.h"
#include "s2s/registry.h"

namespace s2s::run {

struct DescribedModel {
  std::shared_ptr<Block> block;
  std::function<ShardPlan(const MeshShape&)> plan;
  std::vector<std::string> metrics;  // SpeechModel::metric_names
};

/// The speech model that `model.type` names, or, when the config has none, the language model of
/// `model.llm` alone. The tokenizer is not opened. Errors: those of the components,
/// [config/missing].
DescribedModel describe_model(const Config& config, const Registries& registries);

/// The language model of `model.llm`, without memory. Errors: those of the component,
/// [config/missing].
std::unique_ptr<Backbone> describe_language_model(const Config& config,
                                                  const Registries& registries);

/// A size that trainer.strategy gives ("data_parallel_size"); nothing where it leaves it to the
/// number of ranks. Errors: [config/type].
std::optional<int64_t> given_axis_size(const Config& config, const std::string& key);

/// How the configured strategy shares so many ranks out; no rank is started.
/// Errors: those of the strategy, [comm/mesh] when it has no place for them.
MeshShape mesh_of_strategy(const Registries& registries, const Config& config, int64_t num_ranks);

}  // namespace s2s::run
