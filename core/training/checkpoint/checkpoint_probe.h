#pragma once
// Tries the place of checkpoints before a run trains for hours.

#include <cstdint>
#include <filesystem>
#include <string>

namespace s2s {

/// Does what a save does, with a file of 4 KiB: creates the folder, writes, syncs, renames, links
/// and removes. The folder `folder` (RUN/checkpoints) is removed again if it did not exist.
/// Errors: [checkpoint/write].
void probe_saving(const std::filesystem::path& folder);

/// Why a run cannot write its folder `path`, or, with `saves`, not save checkpoints in it; "" if it
/// can. Tries it in a temporary folder of the nearest existing folder, and removes it.
std::string place_fault(const std::filesystem::path& path, bool saves);

/// "" when the disk of `folder`, or of the one that it will be in, has room for a checkpoint of at
/// least `num_bytes`, or does not say what it has; otherwise what is free and what is needed.
std::string room_fault(const std::filesystem::path& folder, int64_t num_bytes);
/// The same of a disk with `free_bytes`.
std::string room_fault(int64_t free_bytes, int64_t num_bytes);

}  // namespace s2s
