#pragma once
// Checkpoints of a run: one folder each, written under another name, synced and renamed, so that a
// folder named step=N is always complete; `last` points at the newest. (core/docs/start/runs.md)
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
// Of a run of W ranks each writes what it owns: model-RRRRR-of-WWWWW.safetensors and so on. Either
// form is read on any mesh: a rank reads its own elements.

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

/// Everything beside the model and the optimizer that a run continues from; the same on all ranks.
struct RunState {
  int64_t steps_done = 0;
  std::string data_state;
  /// A short text of the trainer's own (its loss scaler's state), or "".
  std::string trainer_state = "";
  /// The number that decides which checkpoints are the best, when one was measured of this model.
  std::optional<double> monitored = std::nullopt;
};

/// Which checkpoints stay. The one that was just saved always stays, and beside it: so many of the
/// newest, it among them; or, with `is_monitored`, so many of those whose monitored number is the
/// best. Those without one come after all others, the newest of them first. -1: all stay.
struct Rotation {
  int64_t keep = 1;
  bool is_monitored = false;
  bool is_larger_better = false;
};

struct CheckpointSettings {
  /// The ranks that save together; null: one process. Must live on.
  Communicator* world = nullptr;
  MeshShape mesh;
  /// `save` returns once the elements are copied, and a thread writes them.
  bool is_async = false;
  /// What a save removes after it; none: nothing.
  std::optional<Rotation> rotation = std::nullopt;
  /// A file of lines (metrics.jsonl) that is put on the disk before a checkpoint gets its name; "":
  /// none. A checkpoint is never newer than its lines.
  std::string lines = "";
  /// Hears what does not end the run. Called by whoever calls `save`, `poll`, `finish`, `newest`.
  std::function<void(const std::string&)> warn = {};
};

/// Every rank calls `save`, `poll`, `finish` and `newest` at the same places.
class CheckpointFolder {
 public:
  /// `folder`: RUN/checkpoints. `attachments`: files, and folders of files, that are copied into
  /// every checkpoint.
  CheckpointFolder(std::string folder, std::vector<std::string> attachments,
                   CheckpointSettings settings = {});
  /// Waits for the disk. A save under way of one process is completed; of several it is not.
  ~CheckpointFolder();
  CheckpointFolder(const CheckpointFolder&) = delete;
  CheckpointFolder& operator=(const CheckpointFolder&) = delete;

  /// Returns the new checkpoint's folder, which is there when `save` returns, or, asynchronously,
  /// once a later `poll` or `finish` has seen that all ranks have written. A save that is still
  /// under way is finished before. parts: what this rank holds of the model. A rank that gets no
  /// thread for an asynchronous save warns [run/threads] and writes before it returns.
  /// A folder gets its name when all of it is there: until a save has ended well it has failed.
  /// Errors, the same on all ranks, with the rank: [checkpoint/write], [numerics/not-finite] when a
  /// weight or a moment is no number; nothing older is touched. [checkpoint/cleanup] when the third
  /// checkpoint in a row is whole and what follows failed, of which there were warnings before.
  /// Those of a save under way come from the next `poll`, `finish` or `save`.
  std::string save(const std::vector<LocalShard>& parts, const Optimizer& optimizer,
                   const RunState& state);
  /// After each step: completes a save under way that all ranks have written. True when it did.
  bool poll();
  /// Waits for a save under way, and completes it.
  void finish();

  /// The newest whole checkpoint, or "" when there is none; a newer one that is not whole is passed
  /// over with a warning, [checkpoint/skipped]. Removes left-overs of saves that were cut off, and
  /// fixes `last` where a save was cut off before it. Not while one is under way. Errors:
  /// [checkpoint/damaged] when there are checkpoints and none is whole, [io/read] when one cannot
  /// be read at this moment, [io/write] when `last` cannot be fixed.
  std::string newest() const;

 private:
  struct Job;
  void begin_writing(Job& job) const;
  void write(Job& job) const;
  void complete();
  void name(Job& job, const std::vector<std::string>& written);
  void settle_and_rotate(const std::string& target, int64_t step);
  void cleanup_failed(const std::string& target, const std::string& reason);
  std::string find_newest() const;
  void warn(const std::string& message) const;

  std::string folder_;
  std::vector<std::string> attachments_;
  CheckpointSettings settings_;
  std::unique_ptr<StagingBuffer> staging_;
  std::unique_ptr<Job> job_;  // under way
  int failed_in_a_row_ = 0;   // saves whose checkpoint was whole and what follows it failed
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
/// Errors: [checkpoint/missing], and [checkpoint/incomplete] without a model.
void require_checkpoint(const std::string& checkpoint);
/// Compares the parts that `config` names with those of the checkpoint's config.yaml: families may
/// have the same tensors and compute other numbers. A checkpoint without that file passes. Errors:
/// [checkpoint/model].
void check_same_parts(const std::string& checkpoint, const Config& config);

/// Loads what this rank holds of the parameters and persistent buffers; buffers that have no memory
/// yet become whole. Only the files' blocks around these elements are read, each is checked, and
/// nothing is written before all is known to fit. The caller tells the strategy (after_update).
/// Errors: [checkpoint/missing], [checkpoint/incomplete], [checkpoint/damaged], [checkpoint/model]
/// with all names that differ, [weights/not-finite].
void load_model(const std::string& checkpoint, Block& model, const std::vector<LocalShard>& parts);
/// The same for a model that is whole here.
void load_model(const std::string& checkpoint, Block& model);
/// Optimizer steps that a checkpoint has behind it. Errors: [checkpoint/incomplete].
int64_t steps_of_checkpoint(const std::string& checkpoint);

/// Where a rank stands that goes on from a checkpoint.
struct ResumingRank {
  MeshShape mesh;
  int64_t rank = 0;
};
/// Loads the optimizer (parts: what this rank holds of the model), the random generators and the
/// run's state. On another mesh a rank takes the random state of the rank whose place is its own,
/// modulo the size of each axis. Errors: [checkpoint/incomplete], [checkpoint/damaged],
/// [checkpoint/optimizer], [weights/not-finite].
RunState load_run_state(const std::string& checkpoint, Optimizer& optimizer,
                        const std::vector<LocalShard>& parts = {}, const ResumingRank& place = {});

/// `path` itself; of the folder of a run, or of its `checkpoints`, what `last` points at.
/// Errors: [checkpoint/missing] for the folder of a run that has none.
std::string checkpoint_of(const std::string& path);

}  // namespace s2s
