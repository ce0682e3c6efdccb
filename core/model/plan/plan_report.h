#pragma once
// A plan as a table with shapes per rank, what it costs in bytes, and whether that fits the
// devices.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "plan/activations.h"
#include "plan/rank_cost.h"
#include "plan/traffic.h"
#include "s2s/nn/block.h"
#include "s2s/parallel/parallel_engine.h"
#include "s2s/parallel/plan.h"

namespace s2s {

/// One row of the plan with one of its tensors.
struct PlanLine {
  std::string module, style, in, out;
  std::string tensor;          // "weight"; "12 tensors" for a row that owns a subtree; "" for none
  std::vector<int64_t> sizes;  // whole; empty when the row owns several tensors or none
  std::vector<int64_t> per_rank;
  int64_t num_parameters = 0;  // of all tensors of this line, whole model
  int64_t copies = 1;          // ranks of the tensor axis that hold the same part
  std::string text() const;    // "weight 2048x2048 -> 1024x2048"
};

/// What an optimizer step of one data rank is made of.
struct StepSize {
  int64_t micro_batches = 1;
  int64_t rows = 1;    // sequences of a micro-batch
  int64_t length = 0;  // positions of each; 0: not known
  std::string rows_source = "default", length_source;
  int64_t positions() const { return rows * length; }
  /// With each sequence as long as a multiple of so many ranks.
  int64_t positions_for(int64_t ranks) const {
    return rows * ((length + ranks - 1) / ranks * ranks);
  }
};

struct PlanReport {
  EngineSettings settings;  // mesh and layout
  std::vector<PlanLine> lines;
  std::vector<std::string> units;
  int64_t num_parameters = 0;  // whole model, tied tensors once
  RankCost rank;
  StepSize step;
  Traffic traffic;
  Activations activations;
};

struct PlanReportInputs {
  EngineSettings settings;        // mesh and layout
  int64_t bytes_per_number = 4;   // of parameters
  int64_t product_bytes = 4;      // of what products take and make: autocast's
  int64_t optimizer_numbers = 2;  // per trained parameter
  StepSize step;
  std::function<bool(const std::string& parameter)> is_trained = [](const std::string&) {
    return true;
  };
};

PlanReport report_plan(Block& model, const ShardPlan& plan, const PlanReportInputs& inputs);

/// The table for people, with a last line about the mesh. Ends in a newline.
std::string format_plan(const PlanReport& report);
/// The same as JSON text. `device_bytes`: of each rank's device, to say whether the plan fits; 0:
/// not known.
std::string plan_json(const PlanReport& report, double device_bytes = 0);

/// What a rank's device holds in a step, in bytes.
struct DeviceNeed {
  double bytes = 0;
  bool has_activations = false;  // false: the length of sequences is not known
};

/// With what is recomputed as the settings say; where that is a part of the blocks, or norms and
/// MLPs, as if nothing were.
DeviceNeed device_need(const PlanReport& report);

enum class Fit { kYes, kTight, kNo };
/// "fits", "tight", "too large"
const char* to_string(Fit fit);
/// kTight: more than 90 %, of which kernels' workspaces and gaps between tensors need some.
Fit fit_of(const DeviceNeed& need, double device_bytes);

/// "fits        34.4 of 80.0 GB on each of 8 ranks", with a newline; "" when `device_bytes` is 0.
std::string verdict_line(const PlanReport& report, double device_bytes);

}  // namespace s2s
