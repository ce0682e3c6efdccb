// The library with all commands, which the launcher opens.

#include "base/threads.h"
#include "config/url_secrets.h"
#include "s2s_run/program.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {
namespace {

void setup_subcommands(const Command& program) {
  prepare_runs(program.invocation());
  setup_new(program);
  setup_train(program);
  setup_validate(program);
  setup_generate(program);
  setup_plan(program);
  setup_tune_batch(program);
  setup_compare(program);
  setup_score(program);
  setup_transcribe(program);
  setup_config(program);
  const Command data = program.group("data", "create, inspect and convert data sets");
  setup_data_estimate_bins(data);
  setup_data_inspect(data);
  setup_data_synth(data);
  setup_data_shar(data);
  setup_data_encode(data);
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

}  // namespace
}  // namespace s2s::run

extern "C" __attribute__((visibility("default"))) int s2s_run_all_commands(int argc, char** argv) {
  const int exit_code =
      s2s::run::run_program(argc, argv, s2s::run::setup_subcommands, s2s::without_url_secrets);
  s2s::end_process_if_threads_are_left(exit_code);
  return exit_code;
}
