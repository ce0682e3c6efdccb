#include "s2s_run/plan/plan_inputs.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/machine.h"
#include "plan/planned_model.h"
#include "run/meta_model.h"
#include "s2s/kinds/backbone.h"
#include "s2s/kinds/model_capabilities.h"

namespace s2s::run {
namespace {

constexpr const char* kStrategy = "trainer.strategy.";

/// An option of the strategy that `plan` also reads.
const Config* strategy_option(const Config& config, const std::string& key) {
  const Config* value = config.find_path(kStrategy + key);
  return value != nullptr && value->is_scalar() ? value : nullptr;
}

void read_switch(const Config& config, const std::string& key, bool& value) {
  if (const Config* node = strategy_option(config, key)) value = node->as_bool(kStrategy + key);
}

MeshShape choose_mesh(const PlanArguments& arguments, int64_t num_ranks, const Config& config,
                      const Registries& registries) {
  MeshShape mesh;
  if (!arguments.mesh.empty()) mesh = parse_mesh(arguments.mesh);
  read_switch(config, "sequence_parallel", mesh.sequence_parallel);
  read_switch(config, "replicate_kv_heads", mesh.replicate_kv_heads);
  if (!arguments.mesh.empty()) return mesh;
  mesh.shard = given_axis_size(config, "data_parallel_size").value_or(1);
  mesh.tensor = given_axis_size(config, "tensor_parallel_size").value_or(1);
  require_possible_size(mesh);
  if (strategy_option(config, "name") == nullptr) return mesh;
  try {
    return mesh_of_strategy(registries, config, num_ranks > 0 ? num_ranks : mesh.world_size());
  } catch (const Error& error) {
    if (error.id() != "comm/mesh") throw;  // otherwise the plan's check reports both numbers
    return mesh_of_strategy(registries, config, mesh.world_size());
  }
}

int64_t ranks_of(const PlanArguments& arguments, const Config& config) {
  int64_t ranks = arguments.world_size;
  if (ranks == 0 && arguments.mesh.empty()) ranks = configured_ranks(config).value_or(0);
  MeshShape asked;
  asked.shard = std::max<int64_t>(ranks, 1);
  require_possible_size(asked);
  return ranks;
}

/// Sequences and positions of a micro-batch, and where the values come from.
void read_step_size(const PlanArguments& arguments, const Config& config, StepSize& step) {
  const std::string key = "data.train_ds.batch_size";
  const Config* rows = config.find_path(key);
  if (arguments.batch_size > 0) {
    step.rows = arguments.batch_size;
    step.rows_source = "--batch-size";
  } else if (rows != nullptr && rows->is_scalar() && !rows->is_null()) {
    step.rows = rows->as_int(key);
    step.rows_source = key;
  }
  step.length = arguments.sequence_length;
  step.length_source = "--sequence-length";
}

/// Adapters of a plain language model, whose names have no "llm." prefix, and of a model that takes
/// them itself freeze all other parameters.
FreezeRules freeze_rules(Block& meta, const ModelBlock& model) {
  std::vector<std::string> frozen = model.frozen();
  const bool is_whole = dynamic_cast<const Backbone*>(&meta) != nullptr ||
                        dynamic_cast<const TakesAdapters*>(&meta) != nullptr;
  if (is_whole && model.lora.r > 0) frozen.back() = "^.+$";
  FreezeRules rules(frozen, model.kept());
  rules.of_model(meta, model.lora.r > 0);
  return rules;
}

}  // namespace

PlannedRun::PlannedRun(const PlanArguments& arguments, const Config& config,
                       const Registries& registries)
    : PlannedRun(arguments, config, registries, build_meta_model(config, registries)) {
  compute_meta_buffers(*model_.block);
}

PlannedRun::PlannedRun(const PlanArguments& arguments, const Config& config,
                       const Registries& registries, MetaModel model)
    : arguments_(arguments),
      config_(config),
      registries_(registries),
      options_(read_run_options(config)),
      model_(std::move(model)),
      rules_(freeze_rules(*model_.block, options_.model)),
      asked_ranks_(ranks_of(arguments, config)) {
  rules_.check_some_train(model_.block->named_parameters());
}

MeshShape PlannedRun::asked_mesh() const {
  return choose_mesh(arguments_, asked_ranks_, config_, registries_);
}

EngineSettings PlannedRun::asked_settings(const MeshShape& mesh) const {
  Config options = Config::map();
  for (const OptionRow& option : list_options<ShardingOptions>()) {
    if (const Config* value = strategy_option(config_, option.name)) options[option.name] = *value;
  }
  const int64_t data = mesh.shard * mesh.replicate;
  options["data_parallel_size"] = Config::scalar(std::to_string(data));
  options["replicate_size"] = Config::scalar(std::to_string(mesh.replicate));
  const std::string path = "trainer.strategy";
  EngineSettings settings =
      read_options<ShardingOptions>(options, path).settings(data * mesh.tensor, mesh.tensor, path);
  settings.mesh = mesh;
  return settings;
}

PlanReport PlannedRun::report(const EngineSettings& settings) const {
  PlanReportInputs inputs;
  inputs.settings = settings;
  const std::string& precision = options_.trainer.precision;
  inputs.bytes_per_number = precision == "bf16-true" ? 2 : 4;
  const EmaBlock& ema = options_.exp_manager.ema;
  if (ema.enable && !ema.cpu_offload) inputs.optimizer_numbers += 4 / inputs.bytes_per_number;
  inputs.product_bytes = precision.starts_with("32") ? 4 : 2;
  inputs.is_trained = [this](const std::string& name) { return rules_.trains(name); };
  inputs.step.micro_batches = options_.trainer.accumulate_grad_batches;
  read_step_size(arguments_, config_, inputs.step);
  return report_plan(*model_.block, model_.plan(settings.mesh), inputs);
}

std::string memory_warning(double bytes_of_rank, int64_t ranks_here, double there) {
  const double needed = bytes_of_rank * static_cast<double>(ranks_here);
  if (there <= 0 || needed <= there) return "";
  const std::string ranks = ranks_here == 1 ? ""
                                            : fmt::format(" ({} ranks, {} each)", ranks_here,
                                                          gigabytes_text(bytes_of_rank));
  return fmt::format(
      "[run/memory] parameters, gradients and optimizer state need {}{}, and this machine has {}; "
      "use a smaller model, trainer.precision=bf16-true, adapters (model.lora) or more machines; "
      "s2s-run plan CONFIG --layouts computes the memory per rank",
      gigabytes_text(needed), ranks, gigabytes_text(there));
}

void warn_of_memory(const Config& config, const Registries& registries, const MetaModel& model,
                    const StartedRanks& ranks, std::vector<std::string>& warnings) {
  PlanArguments asked;
  asked.world_size = ranks.all;
  const PlannedRun run(asked, config, registries, model);
  const PlanReport report = run.report(run.asked_settings(run.asked_mesh()));
  const Config* const devices = config.find_path("trainer.devices");
  const bool says_devices = devices != nullptr && !devices->is_null();
  const int64_t configured = says_devices ? num_devices(*devices).value_or(1) : 1;
  const int64_t ranks_here = ranks.here > 0 ? ranks.here : configured;
  const MachineMemory memory = machine_memory();
  const double there = memory.limit > 0 ? std::min(memory.limit, memory.total) : memory.total;
  const auto held = static_cast<double>(report.rank.total() + report.rank.host_bytes);
  const std::string warning = memory_warning(held, ranks_here, there);
  if (!warning.empty()) warnings.push_back(warning);
}

}  // namespace s2s::run
