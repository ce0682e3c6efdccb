// s2s-run train CONFIG [key=value ...]

#include <CLI/CLI.hpp>

#include "run/run.h"
#include "run/training_run.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {

void setup_train(CLI::App& app, Invocation& invocation) {
  CLI::App* const command = app.add_subcommand("train", "train a model from a configuration");
  auto arguments = std::make_shared<ConfigArguments>();
  add_config_arguments(*command, *arguments);
  command->callback([arguments, &invocation] {
    invocation.selected = [arguments, &invocation] {
      Run setup(*arguments, RunPurpose::kTrain, invocation);
      return static_cast<int>(run_training(setup));
    };
  });
}

}  // namespace s2s::run
