#pragma once
// The checkpoints of a run, one folder each. A checkpoint is written under a temporary name, synced
// and renamed, so a folder named step=N is always complete. `last` points to the newest checkpoint,
// `best` to the one with the best monitored metric, and a run can name links to the others.
// (core/docs/start/runs.md)
//
//   checkpoints/step=N/model.safetensors      parameters and persistent buffers, our names
//                      optimizer.safetensors  optimizer state
//                      random.safetensors     random generator states
//                      state.json             steps done, data position, mesh, trainer's state; or
//                                             weights_only, and then there are no other states
//                      index.json             which elements are where, checksums of all files
//                      tokenizer/ llm/        files the configuration names (checkpoint_copies.h)
//                      config.yaml manifest.json   copies from the run folder
//
// With W ranks, each rank writes the shards it owns: model-RRRRR-of-WWWWW.safetensors and so on.
// Both forms can be loaded on any mesh: each rank reads the elements it needs.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plan/mesh.h"
#include "s2s/config.h"
#include "s2s/kinds/optimizer.h"
#include "s2s/nn/block.h"
#include "s2s/parallel/local_shard.h"

namespace s2s {

class StagingBuffer;

/// The state that a run resumes from, except the model and the optimizer. Equal on all ranks.
struct RunState {
  int64_t steps_done = 0;
  std::string data_state;
  /// The state of the trainer (such as the loss scale) as a short text, or "".
  std::string trainer_state = "";
  /// The monitored metric, which selects the best checkpoints. Set if it was measured.
  std::optional<double> monitored = std::nullopt;
  /// Name of a link to the checkpoint, beside step=N; "" for none. Not part of the checkpoint.
  std::string link = "";
};

/// Selects the checkpoints to keep: the `keep` newest ones (including the one just saved), or with
/// `is_monitored` the `keep` ones with the best monitored metric. The one just saved is always
/// kept. Checkpoints without the metric rank after all others, newest first. keep -1: keeps all.
struct Rotation {
  int64_t keep = 1;
  bool is_monitored = false;
  bool is_larger_better = false;
};

struct CheckpointSettings {
  /// The ranks that save together. Null: one process. Must outlive the folder.
  Communicator* world = nullptr;
  MeshShape mesh;
  /// `save` returns once the elements are copied. A thread then writes them.
  bool is_async = false;
  /// The checkpoints to remove after each save. Not set: removes none.
  std::optional<Rotation> rotation = std::nullopt;
  /// A file of lines (metrics.jsonl) that is synced to disk before a checkpoint is renamed, or "".
  /// The file then always includes the lines of every complete checkpoint.
  std::string lines = "";
  /// Receives warnings. Called by the caller of `save`, `poll`, `finish` and `newest`.
  std::function<void(const std::string&)> warn = {};
};

/// Every rank must call `save`, `poll`, `finish` and `newest` in the same order.
class CheckpointFolder {
 public:
  /// `folder`: RUN/checkpoints. `attachments`: files and folders of files that are copied into
  /// every checkpoint.
  CheckpointFolder(std::string folder, std::vector<std::string> attachments,
                   CheckpointSettings settings = {});
  /// Waits for the writer thread. With one process, a pending save is completed. With several
  /// processes it is not.
  ~CheckpointFolder();
  CheckpointFolder(const CheckpointFolder&) = delete;
  CheckpointFolder& operator=(const CheckpointFolder&) = delete;

  /// Saves a checkpoint and returns its folder, which exists when `save` returns. An asynchronous
  /// save creates it in a later `poll` or `finish`, once all ranks have written. A pending save is
  /// completed first. `parts`: this rank's shards of the model. If no thread can be started for an
  /// asynchronous save, the rank warns with [run/threads] and writes before it returns.
  /// Errors, equal on all ranks, with the rank: [checkpoint/write]; [numerics/not-finite] when a
  /// weight or an optimizer moment is not finite. Older checkpoints are not changed.
  /// [checkpoint/cleanup] when the cleanup after a complete checkpoint fails for the third
  /// consecutive time; earlier failures are warnings. The errors of a pending save are thrown by
  /// the next `poll`, `finish` or `save`.
  std::string save(const std::vector<LocalShard>& parts, const Optimizer& optimizer,
                   const RunState& state);
  /// Call this after each step. Completes a pending save once all ranks have written. True if it
  /// did.
  bool poll();
  /// Waits for a pending save and completes it.
  void finish();
  /// Seconds from the begin of the last complete save to its name; 0 before the first one.
  double last_save_s() const { return last_save_s_; }

  /// Returns the newest complete checkpoint, or "" when there is none. Newer incomplete ones are
  /// skipped with the warning [checkpoint/skipped]. Removes the partial files of interrupted saves,
  /// and repairs `last` after an interrupted save. Must not be called while a save is pending.
  /// Errors: [checkpoint/damaged] when checkpoints exist and none is complete, [io/read] when a
  /// checkpoint cannot be read now, [io/write] when `last` cannot be repaired,
  /// [checkpoint/pointer] when `last` is no link.
  std::string newest() const;

 private:
  struct Job;
  void begin_writing(Job& job) const;
  void write(Job& job) const;
  void complete();
  void name(Job& job, const std::vector<std::string>& written);
  void settle_and_rotate(const std::string& target, const RunState& state);
  void cleanup_failed(const std::string& target, const std::string& reason);
  std::string find_newest() const;
  void warn(const std::string& message) const;

  std::string folder_;
  std::vector<std::string> attachments_;
  CheckpointSettings settings_;
  std::unique_ptr<StagingBuffer> staging_;
  std::unique_ptr<Job> job_;  // the pending save
  double last_save_s_ = 0;
  int failed_in_a_row_ = 0;  // consecutive failures of the cleanup after complete checkpoints
};

/// Adds files to the folder of a checkpoint before it is renamed.
using Attach = std::function<void(const std::string& folder)>;

/// Writes a checkpoint with weights only, from which runs start at step 0. `folder`: the final
/// name; an existing folder is replaced. Errors: as CheckpointFolder::save.
void write_first_checkpoint(const std::string& folder, Block& model, const Attach& attach);
/// Returns true for a checkpoint of write_first_checkpoint. Errors: [checkpoint/incomplete].
bool is_weights_only(const std::string& checkpoint);

/// The same as CheckpointFolder::newest, of RUN/checkpoints, by one process. Changes nothing.
std::string newest_checkpoint(const std::string& place,
                              const std::function<void(const std::string&)>& warn);

/// Errors: [checkpoint/missing] when the folder does not exist, [checkpoint/incomplete] when the
/// file is missing in it.
void require_in_checkpoint(const std::string& checkpoint, const std::string& file);
/// Errors: [checkpoint/missing], [checkpoint/incomplete] when the model is missing.
void require_checkpoint(const std::string& checkpoint);
/// Compares the components in `config` with those in the checkpoint's config.yaml: model families
/// can have the same tensors and compute different results. A checkpoint without config.yaml
/// passes. Errors: [checkpoint/model].
void check_same_parts(const std::string& checkpoint, const Config& config);

/// The same for the newest checkpoint of the folder that a run is to write into
/// (RUN/checkpoints/last). Throws [checkpoint/model]; the message asks for another run folder.
void check_run_folder(const std::string& checkpoint, const Config& config);

/// Refuses a model with more elements than the checkpoint has bytes. Call it before the model gets
/// memory: its sizes may come from the checkpoint's own configuration. Errors: [checkpoint/model]
/// with all names that differ.
void require_room_in(const std::string& checkpoint, Block& model);
/// Compares the names and sizes of all tensors of a model, also a meta model, with the
/// checkpoint's. Reads headers only. Errors: [checkpoint/missing], [checkpoint/incomplete],
/// [checkpoint/damaged], [checkpoint/model] with all names that differ.
void require_same_model(const std::string& checkpoint, Block& model);
/// Loads this rank's shards of the parameters and persistent buffers. Buffers that are not
/// allocated yet are loaded as full tensors. Reads only the blocks of the files that contain these
/// elements, and verifies the checksum of each. Copies nothing until all names and sizes are
/// checked. The caller must then call after_update of the strategy.
/// Errors: [checkpoint/missing], [checkpoint/incomplete], [checkpoint/damaged], [checkpoint/model]
/// with all names that differ, [weights/not-finite].
void load_model(const std::string& checkpoint, Block& model, const std::vector<LocalShard>& parts);
/// Loads a model that is not sharded.
void load_model(const std::string& checkpoint, Block& model);
/// Returns true if the checkpoint has a moving average of the weights (exp_manager.ema).
bool has_average(const std::string& checkpoint);
/// Loads this rank's shards of the averages over the parameters that have one. Call it after
/// load_model; the caller must then call after_update of the strategy.
/// Errors: [checkpoint/no-ema], [checkpoint/damaged], [weights/not-finite].
void load_average(const std::string& checkpoint, const std::vector<LocalShard>& parts);
/// Returns the number of optimizer steps done. Errors: [checkpoint/incomplete].
int64_t steps_of_checkpoint(const std::string& checkpoint);

/// The place of a rank that resumes from a checkpoint.
struct ResumingRank {
  MeshShape mesh;
  int64_t rank = 0;
};
/// Loads the optimizer, the random generators and the state of the run. `parts`: this rank's shards
/// of the model. On another mesh, a rank takes the random state of the old rank at its own mesh
/// coordinates, modulo the size of each axis. Errors: [checkpoint/incomplete],
/// [checkpoint/damaged], [checkpoint/optimizer], [weights/not-finite].
RunState load_run_state(const std::string& checkpoint, Optimizer& optimizer,
                        const std::vector<LocalShard>& parts = {}, const ResumingRank& place = {});

/// Returns `path` if it is a checkpoint. For a run folder or its `checkpoints` folder, returns the
/// target of `last`.
/// Errors: [checkpoint/missing] when the run has no checkpoint.
std::string checkpoint_of(const std::string& path);

}  // namespace s2s
