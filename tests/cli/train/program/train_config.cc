// train_config PLUGINS CONFIG [key=value ...]: trains a configuration without s2s-run.

#include <cstdio>

#include "run/training_run.h"

int main(int argc, char** argv) {
  using namespace s2s::run;
  if (argc < 3) return 2;
  try {
    RunProgram program;
    program.plugin_paths = {argv[1]};
    const ConfigArguments arguments = {argv[2], {argv + 3, argv + argc}};
    Run run(arguments, s2s::RunPurpose::kTrain, program);
    return static_cast<int>(run_training(run));
  } catch (const s2s::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.exit_code());
  }
}
