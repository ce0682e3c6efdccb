#pragma once
// Checkpoints of a run: one folder each, written under another name, synced and renamed, so that a
// folder named step=N is always complete; `last` points at the newest.
//
//   checkpoints/step=N/model.safetensors      parameters and persistent buffers, our names
//                      optimizer.safetensors  optimizer state
//                      random.safetensors     random generator states
//                      state.json             steps done, data position, versions; or
//                                             weights_only, and then there are no other states
//                      tokenizer/ llm/        files the configuration names (checkpoint_copies.h)
//                      config.yaml manifest.json   copies from the run folder

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "s2s/block.h"
#include "s2s/config.h"
#include "s2s/training.h"

namespace s2s {

/// Everything beside the model and the optimizer that a run continues from.
struct RunState {
  int64_t steps_done = 0;
  std::string data_state;
  std::string trainer_state = "";  // Trainer::state; "" of checkpoints without one
};

class CheckpointFolder {
 public:
  /// `folder`: RUN/checkpoints. `attachments`: files, and folders of files, that are copied into
  /// every checkpoint.
  CheckpointFolder(std::string folder, std::vector<std::string> attachments);

  /// Returns the new checkpoint's folder. Errors: [checkpoint/write], [numerics/not-finite] when a
  /// weight or a moment is no number; nothing older is touched.
  std::string save(Block& model, const Optimizer& optimizer, const RunState& state) const;
  /// The newest complete checkpoint, or "" when there is none. Removes left-overs of saves that
  /// were cut off, and mends `last` where a save was cut off before it.
  std::string newest() const;
  /// Removes the oldest checkpoints; keeps `keep_last` and those in `keep`.
  void rotate(int64_t keep_last, const std::vector<std::string>& keep) const;

 private:
  std::string folder_;
  std::vector<std::string> attachments_;
};

/// Adds files to a checkpoint's folder before it gets its name.
using Attach = std::function<void(const std::string& folder)>;

/// Writes a checkpoint of weights alone, with which runs begin at step 0. `folder`: its name; what
/// is there is replaced. Errors: as CheckpointFolder::save.
void write_first_checkpoint(const std::string& folder, Block& model, const Attach& attach);
/// True for one of these. Errors: [checkpoint/incomplete].
bool is_weights_only(const std::string& checkpoint);

/// Errors: [checkpoint/missing] when there is no such folder, [checkpoint/incomplete] when it lacks
/// the file.
void require_in_checkpoint(const std::string& checkpoint, const std::string& file);
/// Compares the parts that `config` names with those of the checkpoint's config.yaml: families may
/// have the same tensors and compute other numbers. A checkpoint without that file passes. Errors:
/// [checkpoint/model].
void check_same_parts(const std::string& checkpoint, const Config& config);
/// Loads parameters and persistent buffers. Errors: [checkpoint/missing], [checkpoint/incomplete],
/// [checkpoint/model] with all names that differ, [weights/not-finite].
void load_model(const std::string& checkpoint, Block& model);
/// Optimizer steps that a checkpoint has behind it. Errors: [checkpoint/incomplete].
int64_t steps_of_checkpoint(const std::string& checkpoint);
/// Loads the optimizer, the random generators and the run's state. Errors: [checkpoint/incomplete],
/// [checkpoint/optimizer], [weights/not-finite].
RunState load_run_state(const std::string& checkpoint, Optimizer& optimizer);

}  // namespace s2s
