#pragma once
// The engine: one ParallelStrategy for replicas, for sharded optimizer state, gradients and
// parameters, and for the tensor axis.

#include <memory>
#include <optional>
#include <vector>

#include "base/side_stream.h"
#include "engine/engine_hooks.h"
#include "engine/tensor_split.h"
#include "plan/mesh.h"
#include "s2s/parallel/parallel_engine.h"
#include "s2s/parallel/whole_parameters.h"

namespace s2s {

/// What hosts with devices tell each other. It goes through the devices, but overtakes what they
/// compute: a group and a stream of its own.
struct HostMessages {
  std::unique_ptr<Communicator> ranks;
  SideStream stream;
};

class Engine : public ParallelStrategy, public OffersWholeParameters {
 public:
  /// world: null for a single process.
  Engine(const EngineSettings& settings, Communicator* world);
  ~Engine() override;

  MeshShape mesh() const override { return settings_.mesh; }
  int64_t data_rank() const override;
  void attach(Block& model, const ShardPlan& plan) override;
  void attach_meta(Block& model, const ShardPlan& plan, const InitialValues& values) override;
  std::vector<NamedTensor> optimizer_parameters(Block& model) override;
  std::shared_ptr<const WholeParameters> whole_parameters() override;
  std::vector<LocalShard> parts(Block& model) override;
  void begin_step(Block& model) override;
  void begin_micro_batch(Block& model, bool is_last) override;
  void finish_backward(Block& model) override;
  void scale_gradients(Block& model, double factor) override;
  at::Tensor grad_norm(Block& model) override;
  void after_update(Block& model) override;
  at::Tensor reduce_over_data(const at::Tensor& values) override;
  std::vector<std::string> gather_texts(const std::string& text) override;

 private:
  bool reduces_now(bool is_last) const;
  std::vector<std::vector<NamedTensor>> grouped(const Units& units,
                                                std::vector<NamedTensor> parameters) const;
  CpuOffload& host(at::Device device);
  FlatGroupSettings group_settings(const NamedTensor& first, int64_t unit);
  void make_groups(Block& model, const Units& units);
  std::vector<ScheduledUnit> scheduled(const Units& units) const;
  std::vector<int64_t> slot_numels(const std::vector<NamedTensor>& parameters) const;
  at::Tensor reduce_for_hosts(const at::Tensor& values, Reduction reduction, const char* name);
  void share_flags();
  /// first_copies_only: only the shards that count in a norm over the ranks of the model.
  static NamedTensor shard_of(FlatGroup& group, size_t index);
  LocalShard part_of(FlatGroup& group, size_t index) const;
  std::vector<at::Tensor> shard_gradients(bool first_copies_only = false);
  void sum_partial_gradients();

  EngineSettings settings_;
  std::unique_ptr<Communicator> alone_;
  Communicator& world_;
  MeshGroups groups_of_mesh_;
  std::unique_ptr<Communicator> near_ranks_;  // adjacent ranks of a shard group
  std::unique_ptr<Communicator> self_;        // only this rank
  std::unique_ptr<HostMessages> messages_;    // null: ranks without devices
  std::unique_ptr<FlatMemory> memory_ = std::make_unique<FlatMemory>();
  std::unique_ptr<CpuOffload> host_;  // null: no offload
  std::vector<std::unique_ptr<FlatGroup>> flat_groups_;
  std::vector<FlatGroup*> root_groups_;  // always unsharded
  std::unique_ptr<TensorSplit> split_;   // null: the tensor axis has size 1
  std::unique_ptr<UnshardSchedule> schedule_;
  std::unique_ptr<GradientReducer> flow_;
  std::unique_ptr<EngineHooks> hooks_;
  const InitialValues* values_ = nullptr;  // set while a meta model is attached
  bool all_outdated_ = false;              // frozen parameters may have been written to, too
};

}  // namespace s2s
