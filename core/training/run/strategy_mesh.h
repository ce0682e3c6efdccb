#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "plan/mesh.h"
#include "s2s/registry.h"

namespace s2s::run {

/// A size that trainer.strategy gives ("data_parallel_size"); nothing where it leaves it to the
/// number of ranks. Errors: [config/type].
std::optional<int64_t> given_axis_size(const Config& config, const std::string& key);

/// How the configured strategy shares so many ranks out; no rank is started.
/// Errors: those of the strategy, [comm/mesh] when it has no place for them.
MeshShape mesh_of_strategy(const Registries& registries, const Config& config, int64_t num_ranks);

}  // namespace s2s::run
