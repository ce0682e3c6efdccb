#pragma once
// Parameters that are unsharded, resharded and reduced together. They form one flat tensor, of
// which every rank of the shard axis keeps an equal part, together with its gradients.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/cpu_offload.h"
#include "engine/flat_memory.h"
#include "engine/tensor_placement.h"
#include "s2s/kinds/communicator.h"
#include "s2s/nn/block.h"
#include "s2s/nn/initial_values.h"

namespace s2s {

/// Elements [begin, begin + count).
struct FlatRange {
  int64_t begin = 0;
  int64_t count = 0;
};

/// The offsets of parameters in a flat tensor that is divided equally between ranks.
class FlatLayout {
 public:
  /// numels: elements of each parameter. Parameters start at multiples of 32 elements. The tensor
  /// is padded to `num_ranks` equal parts.
  FlatLayout(std::vector<int64_t> numels, int64_t num_ranks);

  int64_t numel(size_t i) const { return numels_[i]; }
  int64_t begin(size_t i) const { return begins_[i]; }
  /// Number of elements of a rank's part, and of all parts.
  int64_t part_numel() const { return part_; }
  int64_t total_numel() const { return part_ * num_ranks_; }
  /// Returns the range of parameter i that a rank holds, relative to the parameter. May be empty.
  FlatRange held(size_t i, int64_t rank) const;
  /// Returns the offset of that range in the rank's part.
  int64_t place_in_part(size_t i, int64_t rank) const;
  /// Returns the elements of the flat tensor that belong to no parameter.
  std::vector<FlatRange> gaps() const;

 private:
  std::vector<int64_t> numels_, begins_;
  int64_t num_ranks_;
  int64_t part_ = 0;
};

struct FlatParameter {
  NamedTensor named;       // its member becomes a view of the flat tensor
  int64_t slot_numel = 0;  // elements reserved in the layout (the largest size on any tensor rank)
  const TensorPlacement* share = nullptr;  // on the tensor axis; null: not split
  bool has_arrived = false;                // has a gradient since the last reduction
  bool was_reached = false;                // has a gradient in this step
};

struct FlatGroupSettings {
  std::string name;                    // name of the collectives
  Communicator* gathers = nullptr;     // the ranks that shard the group, for all-gathers
  Communicator* reductions = nullptr;  // the same ranks, for reductions
  Communicator* replicas = nullptr;    // the ranks that hold the same part
  Communicator* near = nullptr;  // reshard group that keeps the parts of a freed group; null: none
  Communicator* data = nullptr;  // all of these ranks; the values of the first one are used
  FlatMemory* memory = nullptr;
  const InitialValues* values = nullptr;  // values of meta members; null: there are none
  at::Device device = at::kCPU;           // device of the unsharded group
  at::ScalarType gather_type = at::kFloat;
  at::ScalarType reduce_type = at::kFloat;
  bool frees = false;          // unsharded only while it is used
  CpuOffload* host = nullptr;  // this rank's part is in host memory; null: on the device
};

class FlatGroup {
 public:
  /// Uses the values of the first data rank. Allocates meta members.
  FlatGroup(std::vector<FlatParameter> parameters, const FlatGroupSettings& settings);

  const FlatGroupSettings& settings() const { return settings_; }
  std::vector<FlatParameter>& parameters() { return parameters_; }
  bool is_trained() const { return is_trained_; }

  /// Starts to unshard the group, unless it is unsharded; `wait_unshard` completes it.
  void unshard();
  void wait_unshard();
  /// Call this when the part has new values. The unsharded values are then out of date.
  void outdate();
  /// Frees an unsharded group. `for_backward`: it will be unsharded again before the part changes.
  void reshard(bool for_backward);

  /// Moves the gradient of parameter i into the group.
  void take_gradient(size_t i);
  /// Starts the reduction over the ranks that shard the group; `finish_reduce` completes it.
  void start_reduce();
  void finish_reduce();
  /// Starts the sum over the replicas. Called once in a step.
  void start_replica_sum();
  void finish_replica_sum();  // results in host memory are complete after CpuOffload::settle
  void clear_gradients();

  /// This rank's elements of parameter i. `held` returns their position in the parameter.
  const at::Tensor& shard(size_t i) const { return shards_[i]; }
  at::Tensor& shard(size_t i) { return shards_[i]; }
  FlatRange held(size_t i) const;
  /// The gradient of a shard, complete after the reductions. Undefined if there is none.
  at::Tensor shard_gradient(size_t i) const;

 private:
  int64_t rank() const { return settings_.gathers->rank(); }
  void take_values();
  at::Tensor filled() const;
  void take_value(size_t i, const at::Tensor& elements) const;
  void make_leaves();
  void make_shards();
  at::Tensor own_slice() const;
  void fill_own_slice();
  void add_to_part(const at::Tensor& sum);
  at::Tensor host_gradient(int64_t numel, at::ScalarType type);

  std::vector<FlatParameter> parameters_;
  FlatGroupSettings settings_;
  FlatLayout layout_;
  bool is_trained_ = false;
  bool shares_memory_ = false;  // the part is a slice of the unsharded tensor
  at::Tensor whole_;            // the unsharded tensor, in gather_type
  at::Tensor part_;             // in the dtype of the parameters
  at::Tensor near_part_;        // part of a freed group in the reshard group, for backward
  at::Tensor host_copy_;        // with a part in host memory: the elements in gather_type
  bool host_copy_is_new_ = false;
  at::Tensor host_gradient_;  // memory of part_gradient_, kept between steps
  StreamMark came_from_host_;
  std::vector<at::Tensor> shards_;
  bool is_whole_ = false;
  std::optional<Collective> gathering_;
  at::Tensor whole_gradient_;  // the unsharded gradient, in reduce_type
  at::Tensor sum_;             // result of the running reduction
  // In the dtype of the part; on the same device, except while replicas are summed.
  at::Tensor part_gradient_;
  std::optional<Collective> reducing_;
};

}  // namespace s2s
