#include "s2s_run/subcommands.h"

#include "files/command_rules.h"
#include "s2s_run/config/config_arguments.h"
#include "s2s_run/data/data_set_files.h"
#include "s2s_run/data/data_synth.h"
#include "s2s_run/plan/plan_inputs.h"

namespace s2s::run {

void add_allow_commands(const Command& command) {
  command.flag(
      "--allow-commands", [] { allow_data_commands(); },
      "run the shell commands that the data contains (pipe:, sources of type command)");
}

void setup_subcommands(const Command& program) {
  Invocation& invocation = program.invocation();
  invocation.communicator = [](bool on_gpus) { return on_gpus ? "nccl" : "gloo"; };
  invocation.add_blocks = [](auto& blocks) { blocks["data.synth"] = configured_set_options(); };
  invocation.make_data = [](const Config& config) { make_configured_set(config, "."); };
  invocation.data_to_make = configured_set_to_make;
  invocation.open_files = open_set_files;
  invocation.forecast_memory = warn_of_memory;
  invocation.search = config_search_inputs;
  setup_new(program);
  setup_train(program);
  setup_validate(program);
  setup_generate(program);
  setup_plan(program);
  setup_tune_batch(program);
  setup_compare(program);
  setup_config(program);
  const Command data = program.group("data", "create, inspect and convert data sets");
  setup_data_estimate_bins(data);
  setup_data_inspect(data);
  setup_data_synth(data);
  setup_data_shar(data);
  setup_data_convert(data);
  const Command plugin = setup_plugin_notes(program);
  setup_plugin_inspect(plugin);
  setup_plugin_check(plugin);
  setup_plugin_new(plugin);
  setup_tokenizer(program);
  const Command checkpoint =
      program.group("checkpoint", "inspect, verify, import and export checkpoints");
  setup_checkpoint_inspect(checkpoint);
  setup_checkpoint_verify(checkpoint);
  setup_checkpoint_import(checkpoint);
  setup_checkpoint_export(checkpoint);
  setup_runs(program);
  setup_doctor(program);
  setup_explain(program);
  setup_bench(program);
  setup_launch(program);
  setup_deepspeed_args(program);
  setup_completion(program);
}

}  // namespace s2s::run
