#pragma once
// The subcommands of s2s-run, one file each. Each `setup_*` adds a subcommand to the program or to
// its group.

#include "s2s_run/command_line.h"

namespace s2s::run {

Command setup_bench(const Command& program);
void setup_completion(const Command& program);
void setup_compare(const Command& program);
void setup_config(const Command& program);
void setup_deepspeed_args(const Command& program);
void setup_doctor(const Command& program);
void setup_explain(const Command& program);
void setup_generate(const Command& program);
void setup_launch(const Command& program);
void setup_new(const Command& program);
void setup_plan(const Command& program);
void setup_runs(const Command& program);
void setup_score(const Command& program);
void setup_tokenizer(const Command& program);
void setup_train(const Command& program);
void setup_transcribe(const Command& program);
void setup_tune_batch(const Command& program);
void setup_validate(const Command& program);

void setup_checkpoint_export(const Command& group);
void setup_checkpoint_import(const Command& group);
void setup_checkpoint_inspect(const Command& group);
void setup_checkpoint_verify(const Command& group);
void setup_data_convert(const Command& group);
void setup_data_encode(const Command& group);
void setup_data_estimate_bins(const Command& group);
void setup_data_inspect(const Command& group);
void setup_data_shar(const Command& group);
void setup_data_synth(const Command& group);
void setup_launch_diagnose(const Command& group);
void setup_plugin_check(const Command& group);
void setup_plugin_inspect(const Command& group);
void setup_plugin_list(const Command& group);
void setup_plugin_new(const Command& group);
void setup_plugin_path(const Command& group);
void setup_runs_compare(const Command& group);
void setup_runs_page(const Command& group);

/// Adds `plugin` with only `list` and `path`.
Command setup_plugin_notes(const Command& program);

/// Adds the option --config to commands that search plugins.
void add_config_option(const Command& command, std::string& config);
void add_allow_commands(const Command& command);

/// What runs of configurations ask of the program.
void prepare_runs(Invocation& invocation);

}  // namespace s2s::run
