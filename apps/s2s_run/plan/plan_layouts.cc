#include "s2s_run/plan/plan_layouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "plan/plan_check.h"
#include "plan/plan_report.h"

namespace s2s::run {
namespace {

using What = RecomputeSettings::What;

struct Candidate {
  std::string words;  // options of trainer.strategy
  EngineSettings settings;
  DeviceNeed need;
  double host_bytes = 0;
  double sent_bytes = 0;      // in a step
  bool is_sent_known = true;  // false: does not include activations on the tensor axis
  int64_t sequences = 0;      // per step, on all data ranks

  /// Per sequence, because layouts with fewer data ranks process fewer sequences per step.
  double sent_for_sequence() const { return sent_bytes / static_cast<double>(sequences); }
};

constexpr int64_t kLargestTensorAxis = 64;
constexpr int64_t kRanksOfMachine = 8;

const char* to_text(Offload offload) {
  return offload == Offload::kOptimizer ? "optimizer" : "params";
}

std::string words_of(const EngineSettings& settings) {
  const MeshShape& mesh = settings.mesh;
  std::string words;
  if (mesh.tensor > 1) {
    words = fmt::format("name=model_parallel tensor_parallel_size={}", mesh.tensor);
    if (mesh.shard > 1) words += fmt::format(" zero_stage={}", settings.zero_stage);
  } else if (mesh.shard > 1) {
    words = fmt::format("name=fsdp zero_stage={}", settings.zero_stage);
    if (mesh.replicate > 1) words += fmt::format(" replicate_size={}", mesh.replicate);
  } else {
    words = mesh.replicate > 1 ? "name=ddp" : "name=single";
  }
  if (settings.recompute.what == What::kBlocks) words += " activation_checkpointing=full";
  if (settings.offload != Offload::kNothing) {
    words += std::string(" offload=") + to_text(settings.offload);
  }
  return words;
}

/// Meshes of `num_ranks` ranks: powers of two on the tensor axis, the rest on the data axis. The
/// data axis shards, replicates, or (with several machines) does both.
std::vector<EngineSettings> candidates(const EngineSettings& asked, int64_t num_ranks) {
  std::vector<EngineSettings> found;
  const auto add = [&](int64_t replicate, int64_t shard, int64_t tensor, int zero_stage) {
    EngineSettings settings = asked;
    settings.mesh.replicate = replicate;
    settings.mesh.shard = shard;
    settings.mesh.tensor = tensor;
    settings.zero_stage = zero_stage;
    found.push_back(settings);
  };
  for (int64_t tensor = 1; tensor <= std::min(num_ranks, kLargestTensorAxis); tensor *= 2) {
    if (num_ranks % tensor != 0) continue;
    const int64_t data = num_ranks / tensor;
    if (tensor == 1 || data == 1) add(tensor == 1 ? data : 1, 1, tensor, 3);
    if (data == 1) continue;
    for (const int stage : {1, 2, 3}) add(1, data, tensor, stage);
    if (tensor > 1 || data % kRanksOfMachine != 0) continue;
    // A replica on each machine, or on two, four, ... if one does not have the memory.
    for (int64_t machines = 1; data % (machines * kRanksOfMachine) == 0; machines *= 2) {
      const int64_t shard = machines * kRanksOfMachine;
      if (shard < data) add(data / shard, shard, 1, 3);
    }
  }
  return found;
}

Candidate layout_of(const PlannedRun& run, EngineSettings settings, Offload offload) {
  settings.offload = offload;
  PlanReport report = run.report(settings);
  Candidate layout;
  layout.words = words_of(settings);
  layout.settings = settings;
  layout.need = device_need(report);
  layout.host_bytes = static_cast<double>(report.rank.host_bytes);
  const Traffic& traffic = report.traffic;
  layout.sent_bytes =
      static_cast<double>(traffic.shard_gather + traffic.shard_reduce + traffic.replicate_reduce +
                          traffic.tensor_gradients + traffic.tensor_activations.value_or(0));
  layout.is_sent_known = settings.mesh.tensor == 1 || traffic.tensor_activations.has_value();
  const StepSize& step = report.step;
  layout.sequences = settings.mesh.replicate * settings.mesh.shard * step.rows * step.micro_batches;
  return layout;
}

/// Every layout for which the plan is valid, with and without recomputation.
std::vector<Candidate> all_layouts(const PlannedRun& run, const EngineSettings& asked,
                                   int64_t num_ranks, Offload offload) {
  std::vector<Candidate> layouts;
  for (EngineSettings settings : candidates(asked, num_ranks)) {
    Block& model = *run.model().block;
    const PlanCheckInputs inputs{settings.mesh, num_ranks};
    if (!check_plan(model, run.model().plan(settings.mesh), inputs).empty()) continue;
    for (const What what : {What::kNone, What::kBlocks}) {
      settings.recompute = {what, 1};
      layouts.push_back(layout_of(run, settings, offload));
    }
  }
  return layouts;
}

/// Sorts by cost: first layouts without recomputation, then few bytes sent per sequence, then
/// little memory.
void sort_by_cost(std::vector<Candidate>& layouts, double gpu_bytes) {
  const auto key = [gpu_bytes](const Candidate& layout) {
    const Fit fit = gpu_bytes > 0 ? fit_of(layout.need, gpu_bytes) : Fit::kYes;
    const bool recomputes = layout.settings.recompute.what != What::kNone;
    return std::tuple(fit == Fit::kNo, layout.settings.offload, recomputes, !layout.is_sent_known,
                      layout.sent_for_sequence(), layout.need.bytes);
  };
  std::stable_sort(layouts.begin(), layouts.end(),
                   [&key](const Candidate& a, const Candidate& b) { return key(a) < key(b); });
}

bool some_fit(const std::vector<Candidate>& layouts, double gpu_bytes) {
  return gpu_bytes <= 0 ||
         std::any_of(layouts.begin(), layouts.end(), [&](const Candidate& layout) {
           return fit_of(layout.need, gpu_bytes) != Fit::kNo;
         });
}

const char* fit_text(const Candidate& layout, double gpu_bytes) {
  return gpu_bytes > 0 ? to_string(fit_of(layout.need, gpu_bytes)) : "";
}

void print_text(const std::vector<Candidate>& layouts, double gpu_bytes, int64_t num_ranks) {
  size_t width = 16;
  for (const Candidate& layout : layouts) width = std::max(width, layout.words.size());
  const std::string of = gpu_bytes > 0 ? fmt::format("of {:.1f} GB", gpu_bytes / 1e9) : "";
  fmt::print("{:<{}}  {:>9}  {:>7}  {:>13}  {:>9}  {}\n", "trainer.strategy", width, "GB/rank",
             "GB host", "MB/sequence", "sequences", of);
  for (const Candidate& layout : layouts) {
    const std::string sent = layout.is_sent_known
                                 ? fmt::format("{:.1f}", layout.sent_for_sequence() / 1e6)
                                 : "not known";
    fmt::print("{:<{}}  {:>9.2f}  {:>7.2f}  {:>13}  {:>9}  {}\n", layout.words, width,
               layout.need.bytes / 1e9, layout.host_bytes / 1e9, sent, layout.sequences,
               fit_text(layout, gpu_bytes));
  }
  fmt::print(
      "\n"
      "{} rank{}; MB/sequence: what one rank sends per optimizer step, divided by the number of "
      "sequences in the step\n",
      num_ranks, num_ranks == 1 ? "" : "s");
  if (!layouts.empty() && !layouts.front().need.has_activations) {
    fmt::print(
        "activations and their communication are not counted; give --sequence-length and "
        "--batch-size to count them\n");
  }
  if (!some_fit(layouts, gpu_bytes)) {
    fmt::print(
        "none fits; use more ranks (--world-size), shorter or fewer sequences, bf16-true, or "
        "adapters (model.lora)\n");
  }
}

void print_json(const std::vector<Candidate>& layouts, double gpu_bytes) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Candidate& layout : layouts) {
    rows.push_back({{"strategy", layout.words},
                    {"bytes_per_rank", layout.need.bytes},
                    {"activations_counted", layout.need.has_activations},
                    {"host_bytes", layout.host_bytes},
                    {"sent_bytes_per_step", layout.sent_bytes},
                    {"sent_bytes_known", layout.is_sent_known},
                    {"sequences_per_step", layout.sequences},
                    {"fit", fit_text(layout, gpu_bytes)}});
  }
  fmt::print("{}\n", nlohmann::ordered_json{{"layouts", std::move(rows)}}.dump(2));
}

}  // namespace

int print_layouts(const PlannedRun& run, const PlanArguments& arguments,
                  const Invocation& invocation) {
  const auto gpu_bytes = static_cast<double>(arguments.gpu_bytes);
  const int64_t num_ranks = std::max<int64_t>(1, run.asked_ranks());
  EngineSettings asked = run.asked_settings(MeshShape{});
  std::vector<Candidate> layouts = all_layouts(run, asked, num_ranks, Offload::kNothing);
  for (const Offload offload : {Offload::kOptimizer, Offload::kParameters}) {
    if (some_fit(layouts, gpu_bytes)) break;
    const std::vector<Candidate> more = all_layouts(run, asked, num_ranks, offload);
    layouts.insert(layouts.end(), more.begin(), more.end());
  }
  sort_by_cost(layouts, gpu_bytes);
  if (invocation.json) {
    print_json(layouts, gpu_bytes);
  } else {
    print_text(layouts, gpu_bytes, num_ranks);
  }
  return static_cast<int>(some_fit(layouts, gpu_bytes) ? ExitCode::kOk : ExitCode::kCheckFailed);
}

}  // namespace s2s::run
