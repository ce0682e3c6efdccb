#pragma once
// Parameters that are gathered, freed and reduced together: one flat tensor of which every rank of
// the shard axis keeps an equal part, and the gradients that go with it.

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

/// The places of parameters in a flat tensor that ranks hold equal parts of.
class FlatLayout {
 public:
  /// numels: elements of each parameter. Parameters begin at multiples of 32 elements. The tensor
  /// is padded to `num_ranks` equal parts.
  FlatLayout(std::vector<int64_t> numels, int64_t num_ranks);

  int64_t numel(size_t i) const { return numels_[i]; }
  int64_t begin(size_t i) const { return begins_[i]; }
  /// Elements of a rank's part; of all parts.
  int64_t part_numel() const { return part_; }
  int64_t total_numel() const { return part_ * num_ranks_; }
  /// The range of parameter i that a rank holds, relative to the parameter. It may be empty.
  FlatRange held(size_t i, int64_t rank) const;
  /// The offset of that range in the rank's part.
  int64_t place_in_part(size_t i, int64_t rank) const;
  /// The elements of the flat tensor that belong to no parameter.
  std::vector<FlatRange> gaps() const;

 private:
  std::vector<int64_t> numels_, begins_;
  int64_t num_ranks_;
  int64_t part_ = 0;
};

/// A parameter of a group.
struct FlatParameter {
  NamedTensor named;       // its member becomes a view of the flat tensor
  int64_t slot_numel = 0;  // elements that the layout leaves for it (the most of any tensor rank)
  const TensorPlacement* share = nullptr;  // on the tensor axis; null: it has none
  bool has_arrived = false;                // a gradient since the last reduction
  bool was_reached = false;                // a gradient in this step
};

struct FlatGroupSettings {
  std::string name;                    // for collectives
  Communicator* gathers = nullptr;     // the ranks that share the group out
  Communicator* reductions = nullptr;  // the same ranks
  Communicator* replicas = nullptr;    // ranks that hold the same part
  Communicator* near = nullptr;        // neighbors that keep a freed group's parts; null: none
  Communicator* data = nullptr;        // all of these: whose first rank's values count
  FlatMemory* memory = nullptr;
  const InitialValues* values = nullptr;  // of members without memory; null: all have some
  at::Device device = at::kCPU;           // where the group is whole
  at::ScalarType gather_type = at::kFloat;
  at::ScalarType reduce_type = at::kFloat;
  bool frees = false;  // whole only while it is used
  CpuOffload* host =
      nullptr;  // this rank's part lives in the host's memory; null: beside the whole
};

class FlatGroup {
 public:
  /// Takes over the values of the first data rank. Members without memory get it here.
  FlatGroup(std::vector<FlatParameter> parameters, const FlatGroupSettings& settings);

  const FlatGroupSettings& settings() const { return settings_; }
  std::vector<FlatParameter>& parameters() { return parameters_; }
  bool is_trained() const { return is_trained_; }

  /// Begins to make the group whole; `wait_unshard` ends it. Nothing happens to a whole group.
  void unshard();
  void wait_unshard();
  /// The part has new values: what is whole is so no more.
  void outdate();
  /// Frees a group that is whole. `for_backward`: it will be wanted again before the part changes.
  void reshard(bool for_backward);

  /// Takes the gradient of parameter i away from it.
  void take_gradient(size_t i);
  /// Begins the sum over the ranks that share the group out; `finish_reduce` ends it.
  void start_reduce();
  void finish_reduce();
  /// Begins the sum over the replicas, once in a step.
  void start_replica_sum();
  void finish_replica_sum();  // what goes to the host is there when it has settled
  /// Gradients of the last step are forgotten.
  void clear_gradients();

  /// This rank's elements of parameter i, and their place in the parameter.
  const at::Tensor& shard(size_t i) const { return shards_[i]; }
  at::Tensor& shard(size_t i) { return shards_[i]; }
  FlatRange held(size_t i) const;
  /// The gradient of a shard, complete after the reductions; undefined without any.
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

  std::vector<FlatParameter> parameters_;
  FlatGroupSettings settings_;
  FlatLayout layout_;
  bool is_trained_ = false;
  bool shares_memory_ = false;  // the part is a slice of the whole
  at::Tensor whole_;            // gather_type
  at::Tensor part_;             // the parameters' own type
  at::Tensor near_part_;        // of a freed group, for its backward
  at::Tensor host_copy_;        // of a part in the host's memory: the elements as they are gathered
  bool host_copy_is_new_ = false;
  StreamMark came_from_host_;
  std::vector<at::Tensor> shards_;
  bool is_whole_ = false;
  std::optional<Collective> gathering_;
  at::Tensor whole_gradient_;  // reduce_type
  at::Tensor sum_;             // of the reduction under way
  at::Tensor part_gradient_;   // the part's type; beside the part, but sums over replicas first
  std::optional<Collective> reducing_;
};

}  // namespace s2s
