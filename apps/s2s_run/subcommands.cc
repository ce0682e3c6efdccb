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

void prepare_runs(Invocation& invocation) {
  invocation.communicator = [](bool on_gpus) { return on_gpus ? "nccl" : "gloo"; };
  invocation.add_blocks = [](auto& blocks) { blocks["data.synth"] = configured_set_options(); };
  invocation.make_data = [](const Config& config) { make_configured_set(config, "."); };
  invocation.data_to_make = configured_set_to_make;
  invocation.open_files = open_set_files;
  invocation.forecast_memory = warn_of_memory;
  invocation.search = config_search_inputs;
}

}  // namespace s2s::run
