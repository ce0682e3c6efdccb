#include "s2s_run/subcommands.h"

#include <CLI/CLI.hpp>

#include "s2s_run/config/config.h"
#include "s2s_run/config/foreign_keys.h"
#include "s2s_run/data/data_convert.h"
#include "s2s_run/data/data_inspect.h"
#include "s2s_run/data/data_shar.h"
#include "s2s_run/data/data_synth.h"
#include "s2s_run/plan/memory_forecast.h"
#include "s2s_run/plan/plan.h"
#include "s2s_run/plugin/plugin.h"
#include "s2s_run/run/compare.h"
#include "s2s_run/tokenizer/tokenizer.h"

namespace s2s::run {

// Each of these lives in a file of its own name.
void setup_bench(CLI::App& app, Invocation& invocation);
void setup_checkpoint_export(CLI::App& app, Invocation& invocation);
void setup_checkpoint_import(CLI::App& app, Invocation& invocation);
void setup_checkpoint_inspect(CLI::App& app, Invocation& invocation);
void setup_checkpoint_verify(CLI::App& app, Invocation& invocation);
void setup_completion(CLI::App& app, Invocation& invocation);
void setup_data_estimate_bins(CLI::App& app, Invocation& invocation);
void setup_generate(CLI::App& app, Invocation& invocation);
void setup_launch(CLI::App& app, Invocation& invocation);
void setup_new(CLI::App& app, Invocation& invocation);
void setup_train(CLI::App& app, Invocation& invocation);
void setup_validate(CLI::App& app, Invocation& invocation);

namespace {

void translate_config(const std::vector<std::string>& llms, Config& config, Findings& findings,
                      ConfigNotes& notes) {
  translate_strategy(config, findings, notes);
  translate_parts(config, findings, notes);
  name_data_sources(config, notes);
  name_language_model(config, llms, findings, notes);
}

}  // namespace

void setup_subcommands(CLI::App& app, Invocation& invocation) {
  invocation.translate = translate_config;
  invocation.instead_of = instead_of;
  invocation.communicator = [](bool on_gpus) { return on_gpus ? "nccl" : "gloo"; };
  invocation.add_blocks = [](auto& blocks) { blocks["data.synth"] = configured_set_options(); };
  invocation.make_data = [](const Config& config) { make_configured_set(config, "."); };
  invocation.forecast_memory = warn_of_memory;
  setup_new(app, invocation);
  setup_train(app, invocation);
  setup_validate(app, invocation);
  setup_generate(app, invocation);
  setup_plan(app, invocation);
  setup_compare(app, invocation);
  setup_config(app, invocation);
  setup_data_estimate_bins(app, invocation);
  setup_data_inspect(app, invocation);
  setup_data_synth(app, invocation);
  setup_data_shar(app, invocation);
  setup_data_convert(app, invocation);
  setup_plugin(app, invocation);
  setup_tokenizer(app, invocation);
  setup_checkpoint_inspect(app, invocation);
  setup_checkpoint_verify(app, invocation);
  setup_checkpoint_import(app, invocation);
  setup_checkpoint_export(app, invocation);
  setup_bench(app, invocation);
  setup_launch(app, invocation);
  setup_completion(app, invocation);
}

}  // namespace s2s::run
