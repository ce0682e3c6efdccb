#pragma once
// Builds the meta model of a configuration, without allocating it.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plan/mesh.h"
#include "s2s/config.h"
#include "s2s/kinds/backbone.h"
#include "s2s/kinds/communicator.h"
#include "s2s/kinds/strategy.h"
#include "s2s/parallel/plan.h"
#include "s2s/registry.h"

namespace s2s::run {

struct MetaModel {
  std::shared_ptr<Block> block;
  std::function<ShardPlan(const MeshShape&)> plan;
  std::vector<std::string> metrics;  // Model::metric_names
};

/// Builds the speech model that `model.type` names. When the configuration has no `model.type`,
/// builds only the language model of `model.llm`. The tokenizer is not opened.
/// Errors: those of the components, [config/missing].
MetaModel build_meta_model(const Config& config, const Registries& registries);

/// The same of a model that is built already, adapters included, and outlives the result.
MetaModel meta_model_of(Model& model);

/// Builds the language model of `model.llm` without allocating memory.
/// Errors: those of the component, [config/missing].
std::unique_ptr<Backbone> build_meta_language_model(const Config& config,
                                                    const Registries& registries);

/// Returns a size that trainer.strategy sets ("data_parallel_size"). Returns nothing when the size
/// follows from the number of ranks. Errors: [config/type].
std::optional<int64_t> given_axis_size(const Config& config, const std::string& key);

/// Returns the number of ranks in the configuration, to try its strategy with. Returns nothing when
/// the configuration does not set it. Errors: [config/type].
std::optional<int64_t> ranks_to_try(const Config& config);
/// Creates the configured strategy for rank 0 of `ranks` (make_simulated_ranks). Errors: those of
/// the strategy.
std::unique_ptr<ParallelStrategy> simulated_strategy(const Registries& registries,
                                                     const Config& config, Communicator& ranks);
/// Returns the mesh that the configured strategy builds for `num_ranks` ranks. Starts no rank.
/// Errors: those of the strategy, [comm/mesh] when no mesh has this number of ranks.
MeshShape mesh_of_strategy(const Registries& registries, const Config& config, int64_t num_ranks);

}  // namespace s2s::run
