#pragma once
// Places ranks on the axes of a mesh, and creates a communicator for each axis. The coordinates are
// the digits of the rank: the pipeline axis is the most significant, the tensor axis the least.
// Adjacent ranks share a tensor group.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "s2s/kinds/communicator.h"
#include "s2s/parallel/plan.h"

namespace s2s {

/// The coordinates of a rank.
struct MeshPosition {
  int64_t pipeline = 0;
  int64_t replicate = 0;
  int64_t shard = 0;
  int64_t context = 0;
  int64_t tensor = 0;
  /// The coordinate that selects the data that a rank reads: replicate and shard combined.
  int64_t data(const MeshShape& shape) const { return replicate * shape.shard + shard; }
};

/// Requires 0 <= rank < shape.world_size().
MeshPosition position_in_mesh(const MeshShape& shape, int64_t rank);
int64_t rank_at_position(const MeshShape& shape, const MeshPosition& position);

/// The axes along which a group extends.
struct MeshAxes {
  bool pipeline = false;
  bool replicate = false;
  bool shard = false;
  bool context = false;
  bool tensor = false;
};

/// The ranks that differ from `rank` only along `axes`, including `rank`, in ascending order.
std::vector<int64_t> ranks_along(const MeshShape& shape, int64_t rank, const MeshAxes& axes);

/// "shard 4 x tensor 2": shard, tensor, and other axes above 1.
std::string mesh_axes_text(const MeshShape& mesh);

/// Errors: [comm/mesh] when the mesh size differs from the number of started ranks.
void require_world_size(const MeshShape& shape, int64_t num_ranks);

/// The groups that layouts need. `world` must outlive this object. Errors: [comm/mesh].
class MeshGroups {
 public:
  MeshGroups(Communicator& world, const MeshShape& shape);

  Communicator& world() const { return world_; }
  const MeshShape& shape() const { return shape_; }
  const MeshPosition& position() const { return position_; }
  Communicator& pipeline() const { return *pipeline_; }
  Communicator& replicate() const { return *replicate_; }
  /// For reductions of gradients. `shard_gathers` has the same ranks but a separate queue.
  Communicator& shard() const { return *shard_; }
  Communicator& shard_gathers() const { return *shard_gathers_; }
  Communicator& context() const { return *context_; }
  Communicator& tensor() const { return *tensor_; }
  /// replicate x shard: the ranks that read different data.
  /// This group and the next one are used between steps only, so that they need no queue of their
  /// own. They are the world or the group of an axis if the ranks are the same: on GPUs, each group
  /// of several ranks has buffers.
  Communicator& data() const { return *data_; }
  /// shard x tensor: the ranks that hold one replica of the model together.
  Communicator& model() const { return *model_; }

 private:
  std::unique_ptr<Communicator> group(const char* name, const MeshAxes& axes) const;
  std::unique_ptr<Communicator> group_of_both(const char* name, const MeshAxes& axes,
                                              Communicator& one, Communicator& other,
                                              Communicator*& used) const;

  Communicator& world_;
  MeshShape shape_;
  MeshPosition position_;
  std::unique_ptr<Communicator> pipeline_, replicate_, shard_, shard_gathers_, context_, tensor_,
      own_data_, own_model_;  // own_: null if the ranks have a group already
  Communicator* data_ = nullptr;
  Communicator* model_ = nullptr;
};

/// Returns rank 0 of `size` simulated ranks. Plans use it to ask a strategy for its mesh. It
/// supports subgroups. Calling a collective on it is a programming error.
std::unique_ptr<Communicator> make_simulated_ranks(int64_t size);

}  // namespace s2s
