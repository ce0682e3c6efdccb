#include "run/strategy_mesh.h"

#include <memory>

#include "plan/mesh.h"
#include "s2s/kinds/strategy.h"

namespace s2s::run {

std::optional<int64_t> given_axis_size(const Config& config, const std::string& key) {
  const std::string path = "trainer.strategy." + key;
  const Config* node = config.find_path(path);
  const bool is_open =
      node == nullptr || !node->is_scalar() || node->is_null() || node->text() == "auto";
  return is_open ? std::nullopt : std::optional(node->as_int(path));
}

MeshShape mesh_of_strategy(const Registries& registries, const Config& config, int64_t num_ranks) {
  const std::unique_ptr<Communicator> ranks = make_simulated_ranks(num_ranks);
  BuildContext context;
  context.path = "trainer.strategy";
  context.world = num_ranks > 1 ? ranks.get() : nullptr;
  return registries.create<ParallelStrategy>(*config.find_path(context.path), context)->mesh();
}

}  // namespace s2s::run
