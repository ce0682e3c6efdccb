#pragma once
// Signs that a run folder has held checkpoints, for runs that find no folder checkpoints/step=N.
// Such a run must not silently start at step 0.

#include <filesystem>
#include <string>
#include <vector>

namespace s2s {

/// What was found, a line each, by names within the run folder.
struct CheckpointTraces {
  std::vector<std::string> lines;
  /// The complete checkpoint of most steps among them, and the name under which a run would resume
  /// from it.
  std::string complete;
  std::string right_name;
};

/// Looks for checkpoints under other names than checkpoints/step=N, and for links to checkpoints
/// that are gone. The partial folder of an interrupted first save is no such sign. Returns nothing
/// when the run folder has a folder checkpoints/step=N.
/// Errors: [io/read].
CheckpointTraces find_traces(const std::filesystem::path& run_folder);
/// Errors: [run/lost-checkpoints] when there are traces.
void check_traces(const std::filesystem::path& run_folder);

/// Checks that `last` in the folder of checkpoints is a link, or not there.
/// Errors: [checkpoint/pointer], which names the checkpoints beside it.
void check_pointer(const std::filesystem::path& folder);
/// The warning [checkpoint/pointer] when `last` leads to a checkpoint that is gone; "" otherwise.
/// `taken`: the checkpoint from which the run resumes instead.
std::string lost_pointer(const std::filesystem::path& folder, const std::filesystem::path& taken);
/// Why `last` leads to no checkpoint, with the names of the checkpoints beside it.
std::string pointer_fault(const std::filesystem::path& folder);

}  // namespace s2s
