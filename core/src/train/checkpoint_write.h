#pragma once
// The files of a checkpoint: each rank writes its own into a folder under another name, and rank 0
// gives it its name once all are on the disk.

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "train/checkpoint_pieces.h"
#include "weights/piece_index.h"

namespace s2s {

/// The name of a rank's file: GROUP.safetensors of one rank, GROUP-RRRRR-of-WWWWW.safetensors of
/// several.
std::string piece_file_name(const std::string& group, int64_t rank, int64_t num_ranks);

/// Where a checkpoint is written before it has its name.
std::filesystem::path partial_name(const std::filesystem::path& target);
/// Makes the empty folder. Errors: std::filesystem::filesystem_error.
void make_partial(const std::filesystem::path& target);

/// Writes a rank's files into `folder`, synced; returns what of which tensor is where and the
/// checksums. Errors: [io/write].
PieceIndex write_pieces(const std::filesystem::path& folder, const std::vector<PieceFile>& files,
                        int64_t rank, int64_t num_ranks);

/// Copies a file, or a folder of files, that is there.
void attach_copy(const std::filesystem::path& from, const std::filesystem::path& folder);

/// Ends a checkpoint: writes index.json over all files of its partial folder (`index` knows those
/// of the ranks), syncs, and gives the folder its name. Errors: std::runtime_error when the pieces
/// are not every number once; [io/write].
void publish(const std::filesystem::path& target, PieceIndex index);

/// Points `last`, beside a checkpoint, at it.
void point_last(const std::filesystem::path& target);
/// Removes a checkpoint so that it is never there in part under its name.
void remove_checkpoint(const std::filesystem::path& folder);
/// Removes what saves that were cut off have left.
void remove_partials(const std::filesystem::path& folder);

/// The number N of a folder name step=N, or -1.
int64_t step_of(const std::string& name);
/// Complete checkpoints of a folder, oldest first.
std::vector<std::pair<int64_t, std::filesystem::path>> list_checkpoints(
    const std::filesystem::path& folder);

}  // namespace s2s
