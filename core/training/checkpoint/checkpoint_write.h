#pragma once
// Writes the files of a checkpoint. Each rank writes its own files into a folder with a temporary
// name. Rank 0 renames the folder once all files are on disk.

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_shards.h"
#include "weights/checkpoint_index.h"

namespace s2s {

struct Rotation;

/// Returns the temporary name of a checkpoint while it is written.
std::filesystem::path partial_name(const std::filesystem::path& target);
/// Creates the empty folder. Errors: std::filesystem::filesystem_error, [io/write].
void make_partial(const std::filesystem::path& target);

/// Writes and syncs this rank's files in `folder`, and reads their headers back. Returns the
/// positions of all elements and the checksums. Errors: [io/write], std::runtime_error when a file
/// does not contain what was written.
CheckpointIndex write_rank_files(const std::filesystem::path& folder,
                                 const std::vector<RankFile>& files, int64_t rank,
                                 int64_t num_ranks);

/// Copies an existing file, or a folder of files.
void attach_copy(const std::filesystem::path& from, const std::filesystem::path& folder);

/// Completes a checkpoint: writes index.json over all files of the partial folder (`index` already
/// contains the files of the ranks), syncs, reads everything back to verify it, and renames the
/// folder. An existing folder of that name is kept under another name until `settle`.
/// On error, the name is unused or still refers to the old folder. Errors: std::runtime_error when
/// the shards do not cover every element exactly once, or when something is missing; [io/write].
void publish(const std::filesystem::path& target, CheckpointIndex index);
/// Call this after `publish`. Syncs the new name to disk and removes the folder that it replaced.
/// Errors: [io/write], std::filesystem::filesystem_error. The checkpoint stays complete.
void settle(const std::filesystem::path& target);

/// Points the link `name` ("last"), next to the checkpoint, to it.
/// Errors: std::runtime_error when a file or folder that is no link has this name; [io/write].
void point_link(const std::filesystem::path& target, const std::string& name);
/// Removes the links in `folder` to checkpoints that no longer exist.
void remove_dead_links(const std::filesystem::path& folder);
/// Cleans up after interrupted saves. A complete checkpoint that was about to be replaced gets its
/// name back. All other partial folders are removed. Returns a line for each that remains.
std::vector<std::string> remove_partials(const std::filesystem::path& folder);

/// Returns the folders step=N, oldest first, complete or not. Returns nothing when the folder does
/// not exist. Errors: [io/read].
std::vector<std::pair<int64_t, std::filesystem::path>> list_checkpoints(
    const std::filesystem::path& folder);

/// Removes the checkpoints that `rotation` does not keep, once step `saved` is complete, and points
/// the link `best` to the one with the best monitored metric, if there is one. Returns a
/// line for each checkpoint that was renamed but not removed; the next call tries again. Incomplete
/// checkpoints are neither counted nor removed, because a resume skips them. Errors: [io/read],
/// [io/write], std::filesystem::filesystem_error when a rename fails.
std::vector<std::string> rotate_checkpoints(const std::string& folder, const Rotation& rotation,
                                            int64_t saved);

}  // namespace s2s
