#include "run/bad_steps.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/atomic_file.h"
#include "base/text.h"

namespace s2s::run {
namespace {

/// Saves the weights before the update of the step. All ranks succeed or fail together.
void save_weights(const BadStepsOptions& options, const RunParts& parts, const std::string& state,
                  SavedStep& step) {
  try {
    CheckpointFolder folder(options.folder, options.attachments, options.checkpoints);
    const std::string written = folder.save(parts.strategy->parts(*parts.model), *parts.optimizer,
                                            {step.step, step.data_state, state});
    step.weights = std::filesystem::path(written).filename().string();
  } catch (const Error& error) {
    step.weights_problem = first_line_in(error.what());
  }
}

}  // namespace

std::function<std::string(SavedStep&)> bad_step_saver(
    BadStepsOptions options, const RunParts& parts,
    const std::function<std::string()>& trainer_state,
    const std::function<void(const std::string&)>& warn) {
  return
      [options = std::move(options), &parts, trainer_state, warn](SavedStep& step) -> std::string {
        const auto path = std::filesystem::path(options.folder) /
                          fmt::format("batch.{}.{}.safetensors", step.step + 1, options.rank);
        step.num_ranks = options.num_ranks;
        save_weights(options, parts, trainer_state(), step);
        try {
          make_folders(options.folder);
          write_saved_step(path.string(), step);
          return path.string();
        } catch (const Error& error) {
          warn(fmt::format("step {} was not saved: {}", step.step + 1, error.what()));
          return "";
        }
      };
}

}  // namespace s2s::run
