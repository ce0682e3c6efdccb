// s2s-run train CONFIG [key=value ...]

#include "run/replay.h"
#include "run/run.h"
#include "run/training_run.h"
#include "s2s/error.h"
#include "s2s_run/config/config_arguments.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {
namespace {

struct TrainArguments {
  ConfigArguments config;
  std::string replay;  // a file of RUN/bad_steps, or ""
};

int train(const TrainArguments& arguments, const Invocation& invocation) {
  if (!arguments.replay.empty()) {
    const ConfigArguments config = replay_arguments(arguments.config, arguments.replay);
    return static_cast<int>(replay_step(config, invocation, arguments.replay));
  }
  if (arguments.config.path.empty()) {
    throw Error(ExitCode::kUsage, "usage/arguments",
                "s2s-run train: config is required\n  see:       s2s-run train --help");
  }
  Run setup(arguments.config, RunPurpose::kTrain, invocation);
  return static_cast<int>(run_training(setup, invocation.json));
}

}  // namespace

void setup_train(const Command& program) {
  const Command command = program.command("train", "train a model from a configuration");
  TrainArguments& arguments = command.runs(train);
  command.option("config", arguments.config.path,
                 "configuration file (YAML), or - for standard input");
  command.option("overrides", arguments.config.overrides,
                 "overrides: key.path=value with a YAML value; ~key removes a key");
  command.option("--replay", arguments.replay,
                 "run a saved step again, alone, and name the first module whose output is not "
                 "finite: RUN/bad_steps/batch.STEP.RANK.safetensors; the configuration is that of "
                 "the step");
  command.json(
      "print the lines of metrics.jsonl as they are written, after {\"run\": FOLDER}; when their "
      "reader ends, the run stops with a checkpoint");
}

}  // namespace s2s::run
