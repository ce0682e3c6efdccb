// s2s-run train CONFIG [key=value ...]

#include "run/run.h"
#include "run/training_run.h"
#include "s2s_run/config/config_arguments.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {
namespace {

int train(const ConfigArguments& arguments, const Invocation& invocation) {
  Run setup(arguments, RunPurpose::kTrain, invocation);
  return static_cast<int>(run_training(setup));
}

}  // namespace

void setup_train(const Command& program) {
  const Command command = program.command("train", "train a model from a configuration");
  add_config_arguments(command, command.runs(train));
}

}  // namespace s2s::run
