#pragma once
// A plan as a table: shapes per rank, memory, communication, and whether it fits the devices.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "plan/activations.h"
#include "plan/plan_buffers.h"
#include "plan/rank_cost.h"
#include "plan/traffic.h"
#include "s2s/nn/block.h"
#include "s2s/parallel/parallel_engine.h"
#include "s2s/parallel/plan.h"

namespace s2s {

/// A row of the plan with one of its tensors.
struct PlanLine {
  std::string module, style, in, out;
  std::string tensor;          // "weight"; "12 tensors" for a row that owns a subtree; "" for none
  std::vector<int64_t> sizes;  // full size; empty when the row owns several tensors or none
  std::vector<int64_t> per_rank;
  int64_t num_parameters = 0;  // all tensors of this line, full model
  int64_t copies = 1;          // ranks of the tensor axis with the same part
  std::string text() const;    // "weight 2048x2048 -> 1024x2048"
};

/// The size of an optimizer step on one data rank.
struct StepSize {
  int64_t micro_batches = 1;
  int64_t rows = 1;    // sequences per micro-batch
  int64_t length = 0;  // positions per sequence; 0: unknown
  std::string rows_source = "default", length_source;
  int64_t positions() const { return rows * length; }
  /// Number of positions when the sequence length is rounded up to a multiple of `ranks`.
  int64_t positions_for(int64_t ranks) const {
    return rows * ((length + ranks - 1) / ranks * ranks);
  }
};

struct PlanReport {
  EngineSettings settings;  // mesh and layout
  std::vector<PlanLine> lines;
  std::vector<PlanBuffers> buffers;
  std::vector<std::string> units;
  int64_t num_parameters = 0;  // full model, tied tensors counted once
  RankCost rank;
  StepSize step;
  Traffic traffic;
  Activations activations;
};

struct PlanReportInputs {
  EngineSettings settings;       // mesh and layout
  int64_t bytes_per_number = 4;  // bytes per element of parameters
  // Bytes per element of inputs and outputs of matrix products (autocast).
  int64_t product_bytes = 4;
  int64_t optimizer_numbers = 2;  // optimizer values per trained parameter
  StepSize step;
  std::function<bool(const std::string& parameter)> is_trained = [](const std::string&) {
    return true;
  };
};

PlanReport report_plan(Block& model, const ShardPlan& plan, const PlanReportInputs& inputs);

/// Returns the table as text, with a last line about the mesh. Ends in a newline.
std::string format_plan(const PlanReport& report);
/// Returns the report as JSON text. `device_bytes`: memory of each rank's device, to report whether
/// the plan fits; 0: unknown.
std::string plan_json(const PlanReport& report, double device_bytes = 0);

/// The device memory that a rank needs in a step, in bytes.
struct DeviceNeed {
  double bytes = 0;
  bool has_activations = false;  // false: the sequence length is unknown
};

/// Counts full recomputation if the settings ask for it. With recomputation of some blocks, or only
/// of norms and MLPs, counts as without recomputation.
DeviceNeed device_need(const PlanReport& report);

enum class Fit { kYes, kTight, kNo };
/// Returns "fits", "tight" or "too large".
const char* to_string(Fit fit);
/// kTight: more than 90 %. Kernel workspaces and fragmentation need some of the rest.
Fit fit_of(const DeviceNeed& need, double device_bytes);

/// Returns "fits        34.4 of 80.0 GB on each of 8 ranks" and a newline, or "" when
/// `device_bytes` is 0.
std::string verdict_line(const PlanReport& report, double device_bytes);

}  // namespace s2s
