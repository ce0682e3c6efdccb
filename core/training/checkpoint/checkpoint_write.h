#pragma once
// The files of a checkpoint: each rank writes its own into a folder under another name, and rank 0
// gives it its name once all are on the disk.

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_shards.h"
#include "weights/checkpoint_index.h"

namespace s2s {

struct Rotation;

/// Where a checkpoint is written before it has its name.
std::filesystem::path partial_name(const std::filesystem::path& target);
/// Makes the empty folder. Errors: std::filesystem::filesystem_error, [io/write].
void make_partial(const std::filesystem::path& target);

/// Writes a rank's files into `folder`, synced, and reads their headers again; returns what of
/// which tensor is where and the checksums. Errors: [io/write], std::runtime_error when a file does
/// not hold what was written.
CheckpointIndex write_rank_files(const std::filesystem::path& folder,
                                 const std::vector<RankFile>& files, int64_t rank,
                                 int64_t num_ranks);

/// Copies a file, or a folder of files, that is there.
void attach_copy(const std::filesystem::path& from, const std::filesystem::path& folder);

/// Ends a checkpoint: writes index.json over all files of its partial folder (`index` knows those
/// of the ranks), syncs, reads it again to prove the folder whole, and gives the folder its name.
/// What had the name before waits for `settle` under another. Errors, and then there is no folder
/// of that name, or the one from before: std::runtime_error when the shards are not every element
/// once, or something is missing; [io/write].
void publish(const std::filesystem::path& target, CheckpointIndex index);
/// What follows `publish`: puts the name on the disk and removes what had it before. Errors:
/// [io/write], std::filesystem::filesystem_error; the checkpoint is whole then, too.
void settle(const std::filesystem::path& target);

/// Points `last`, beside a checkpoint, at it.
void point_last(const std::filesystem::path& target);
/// Mends what saves that were cut off have left: a whole checkpoint whose place was being taken
/// gets its name back, everything else is removed; a line for each that stays.
std::vector<std::string> remove_partials(const std::filesystem::path& folder);

/// The folders step=N, oldest first, whole or not; none where there is no folder. Errors:
/// [io/read].
std::vector<std::pair<int64_t, std::filesystem::path>> list_checkpoints(
    const std::filesystem::path& folder);

/// Removes the others, now that step `saved` is whole; a line for each that has lost its name and
/// could not be removed, which is tried again at the next call. What is not a whole checkpoint
/// neither counts nor goes: a resume would not begin with it. Errors: [io/read], [io/write],
/// std::filesystem::filesystem_error when one keeps its name.
std::vector<std::string> rotate_checkpoints(const std::string& folder, const Rotation& rotation,
                                            int64_t saved);

}  // namespace s2s
