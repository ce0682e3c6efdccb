#pragma once
// What `plan` makes of a configuration: the model, the layout that trainer.strategy asks for, and
// the size of a step.

#include <string>
#include <vector>

#include "plan/plan_report.h"
#include "run/described_model.h"
#include "run/run_config.h"
#include "run/run_program.h"
#include "s2s/registry.h"
#include "train/freeze.h"
#include "train/run_options.h"

namespace s2s::run {

struct PlanArguments {
  ConfigArguments config;
  std::string mesh;
  int64_t world_size = 0;
  int64_t sequence_length = 0;
  int64_t batch_size = 0;
  uint64_t gpu_bytes = 0;  // of each rank; 0: not known
  bool layouts = false;
};

/// A configuration's model and what its plan's report depends on beside the layout.
class PlannedRun {
 public:
  /// `config`: checked, as written. Errors: those of the model's parts, [train/nothing-to-train].
  PlannedRun(const PlanArguments& arguments, const Config& config, const Registries& registries);

  const DescribedModel& model() const { return model_; }
  const FreezeRules& rules() const { return rules_; }
  /// --world-size, else what trainer.devices and trainer.num_nodes say, unless a mesh is tried; 0:
  /// any. Errors: [mesh/size].
  int64_t asked_ranks() const { return asked_ranks_; }
  /// --mesh, else what the strategy makes of the asked ranks (of its own sizes where none are);
  /// where no strategy is named, its sizes. Errors: [mesh/axes], [mesh/size], the strategy's.
  MeshShape asked_mesh() const;
  /// What trainer.strategy says about the layout, on this mesh.
  EngineSettings asked_settings(const MeshShape& mesh) const;
  PlanReport report(const EngineSettings& settings) const;

 private:
  const PlanArguments& arguments_;
  const Config& config_;
  const Registries& registries_;
  RunOptions options_;
  FreezeRules rules_;
  DescribedModel model_;
  int64_t asked_ranks_ = 0;
};

/// Adds a warning [run/memory] when parameters, gradients and optimizer state of the ranks of one
/// machine are more than this machine's whole memory. `config`: checked, as written, of a run that
/// computes on CPUs. Errors: those of the model's parts and of its plan.
void warn_of_memory(const Config& config, const Registries& registries, const StartedRanks& ranks,
                    std::vector<std::string>& warnings);

/// The text, for ranks of which each holds so many bytes; "" when they fit into `there`.
std::string memory_warning(double bytes_of_rank, int64_t ranks_here, double there);

}  // namespace s2s::run
