#include "plan/mesh.h"

#include <fmt/format.h>

#include <numeric>

#include "comm/comm_errors.h"
#include "s2s/error.h"

namespace s2s {
namespace {

class SimulatedRanks : public Communicator {
 public:
  explicit SimulatedRanks(GroupPlace place) : Communicator(std::move(place)) {}
  at::DeviceType device_type() const override { return at::kCPU; }

 protected:
  Work start_all_reduce(at::Tensor, Reduction) override { return refuse(); }
  Work start_all_gather(at::Tensor, at::Tensor) override { return refuse(); }
  Work start_reduce_scatter(at::Tensor, at::Tensor, Reduction) override { return refuse(); }
  Work start_broadcast(at::Tensor, int64_t) override { return refuse(); }
  Work start_all_to_all(at::Tensor, at::Tensor) override { return refuse(); }
  Work start_send(at::Tensor, int64_t) override { return refuse(); }
  Work start_recv(at::Tensor, int64_t) override { return refuse(); }
  Work start_barrier() override { return refuse(); }
  std::unique_ptr<Communicator> make_subgroup(GroupPlace place, const std::string&) override {
    return std::make_unique<SimulatedRanks>(std::move(place));
  }

 private:
  static Work refuse() {
    S2S_ASSERT(false, "nobody is there to answer");
    return nullptr;
  }
};

}  // namespace

MeshPosition position_in_mesh(const MeshShape& shape, int64_t rank) {
  S2S_ASSERT(rank >= 0 && rank < shape.world_size(), "a rank of the mesh");
  MeshPosition position;
  const auto take = [&rank](int64_t size) {
    const int64_t coordinate = rank % size;
    rank /= size;
    return coordinate;
  };
  position.tensor = take(shape.tensor);
  position.context = take(shape.context);
  position.shard = take(shape.shard);
  position.replicate = take(shape.replicate);
  position.pipeline = take(shape.pipeline);
  return position;
}

int64_t rank_at_position(const MeshShape& shape, const MeshPosition& position) {
  int64_t rank = position.pipeline;
  rank = rank * shape.replicate + position.replicate;
  rank = rank * shape.shard + position.shard;
  rank = rank * shape.context + position.context;
  return rank * shape.tensor + position.tensor;
}

std::vector<int64_t> ranks_along(const MeshShape& shape, int64_t rank, const MeshAxes& axes) {
  const MeshPosition self = position_in_mesh(shape, rank);
  std::vector<int64_t> ranks;
  for (int64_t other = 0; other < shape.world_size(); ++other) {
    const MeshPosition position = position_in_mesh(shape, other);
    const bool joins = (axes.pipeline || position.pipeline == self.pipeline) &&
                       (axes.replicate || position.replicate == self.replicate) &&
                       (axes.shard || position.shard == self.shard) &&
                       (axes.context || position.context == self.context) &&
                       (axes.tensor || position.tensor == self.tensor);
    if (joins) ranks.push_back(other);
  }
  return ranks;
}

std::unique_ptr<Communicator> MeshGroups::group(const char* name, const MeshAxes& axes) const {
  return world_.subgroup(ranks_along(shape_, world_.rank(), axes), name);
}

/// Sets `used` to the group along the axes of `one` and `other`. Makes it if there is none.
std::unique_ptr<Communicator> MeshGroups::group_of_both(const char* name, const MeshAxes& axes,
                                                        Communicator& one, Communicator& other,
                                                        Communicator*& used) const {
  std::unique_ptr<Communicator> made;
  if (one.size() * other.size() == world_.size()) {
    used = &world_;
  } else if (other.size() == 1) {
    used = &one;
  } else if (one.size() == 1) {
    used = &other;
  } else {
    made = group(name, axes);
    used = made.get();
  }
  return made;
}

std::string mesh_axes_text(const MeshShape& mesh) {
  std::string text;
  const auto axis = [&](const char* name, int64_t size, bool always) {
    if (size > 1 || always) text += fmt::format("{}{} {}", text.empty() ? "" : " x ", name, size);
  };
  axis("pipeline", mesh.pipeline, false);
  axis("replicate", mesh.replicate, false);
  axis("shard", mesh.shard, true);
  axis("context", mesh.context, false);
  axis("tensor", mesh.tensor, true);
  return text;
}

void require_world_size(const MeshShape& shape, int64_t num_ranks) {
  if (shape.world_size() == num_ranks) return;
  throw comm_errors::mesh(shape.world_size(), num_ranks, mesh_axes_text(shape));
}

MeshGroups::MeshGroups(Communicator& world, const MeshShape& shape) : world_(world), shape_(shape) {
  require_world_size(shape, world.size());
  position_ = position_in_mesh(shape, world.rank());
  pipeline_ = group("pipeline", {.pipeline = true});
  replicate_ = group("replicate", {.replicate = true});
  shard_ = group("shard", {.shard = true});
  shard_gathers_ = group("shard_gathers", {.shard = true});
  context_ = group("context", {.context = true});
  tensor_ = group("tensor", {.tensor = true});
  own_data_ =
      group_of_both("data", {.replicate = true, .shard = true}, *replicate_, *shard_, data_);
  own_model_ = group_of_both("model", {.shard = true, .tensor = true}, *shard_, *tensor_, model_);
}

std::unique_ptr<Communicator> make_simulated_ranks(int64_t size) {
  GroupPlace place;
  place.ranks.resize(static_cast<size_t>(size));
  std::iota(place.ranks.begin(), place.ranks.end(), int64_t{0});
  return std::make_unique<SimulatedRanks>(std::move(place));
}

}  // namespace s2s
