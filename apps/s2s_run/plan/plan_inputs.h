#pragma once
// Inputs of `plan` from a configuration: the model, the layout of trainer.strategy, and the size of
// a step.

#include <string>
#include <vector>

#include "plan/plan_report.h"
#include "run/meta_model.h"
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
  uint64_t gpu_bytes = 0;  // per rank; 0: unknown
  bool layouts = false;
};

/// A configuration's model, and everything except the layout that its plan report depends on.
class PlannedRun {
 public:
  /// `config`: checked, as written. Errors: those of the model's parts, [train/nothing-to-train].
  PlannedRun(const PlanArguments& arguments, const Config& config, const Registries& registries);
  /// Of a model that is built already.
  PlannedRun(const PlanArguments& arguments, const Config& config, const Registries& registries,
             MetaModel model);

  const MetaModel& model() const { return model_; }
  const FreezeRules& rules() const { return rules_; }
  /// --world-size; else trainer.devices and trainer.num_nodes, unless --mesh is given; 0: any.
  /// Errors: [mesh/size].
  int64_t asked_ranks() const { return asked_ranks_; }
  /// --mesh; else the mesh that the strategy builds for the number of ranks (or for its own sizes
  /// if there is none). Without a strategy name, the sizes in trainer.strategy. Errors:
  /// [mesh/axes], [mesh/size], the strategy's.
  MeshShape asked_mesh() const;
  /// The layout options of trainer.strategy, on this mesh.
  EngineSettings asked_settings(const MeshShape& mesh) const;
  PlanReport report(const EngineSettings& settings) const;

 private:
  const PlanArguments& arguments_;
  const Config& config_;
  const Registries& registries_;
  RunOptions options_;
  MetaModel model_;
  FreezeRules rules_;
  int64_t asked_ranks_ = 0;
};

/// Adds a warning [run/memory] when parameters, gradients and optimizer state of all ranks on this
/// machine exceed its memory. `config`: checked, as written, of a run on CPUs, of which `model` is
/// the meta model. Errors: those of its plan, [train/nothing-to-train].
void warn_of_memory(const Config& config, const Registries& registries, const MetaModel& model,
                    const StartedRanks& ranks, std::vector<std::string>& warnings);

/// The text of the warning, for ranks that need `bytes_of_rank` each; "" when they fit into
/// `there`.
std::string memory_warning(double bytes_of_rank, int64_t ranks_here, double there);

}  // namespace s2s::run
