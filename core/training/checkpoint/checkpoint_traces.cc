#include "checkpoint/checkpoint_traces.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_write.h"
#include "s2s/foreign_text.h"
#include "train/train_errors.h"
#include "weights/checkpoint_proof.h"

namespace s2s {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxNamed = 10;

/// Entries by name; nothing when the folder cannot be listed (list_checkpoints reports that).
std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

bool has_checkpoint_files(const fs::path& folder) {
  std::error_code ignored;
  for (const char* const name : {"index.json", "state.json", "model.safetensors"}) {
    if (fs::exists(folder / name, ignored)) return true;
  }
  return false;
}

/// The folder of a save that was interrupted before it got its name. Nobody could resume from it.
bool is_interrupted_save(const std::string& name) {
  return name.starts_with(".step=") && name.ends_with(".partial") &&
         !name.ends_with(".removed.partial") && !name.ends_with(".replaced.partial");
}

/// Describes what a link leads to, or returns "" when it leads to something.
std::string dead_link(const fs::path& path) {
  std::error_code problem;
  if (!fs::is_symlink(path, problem) || fs::exists(path, problem)) return "";
  return fmt::format("a link to {}, which does not exist",
                     printable(fs::read_symlink(path, problem).string()));
}

/// Collects traces, with names relative to the run folder.
class Search {
 public:
  explicit Search(fs::path run_folder) : run_folder_(std::move(run_folder)) {}

  CheckpointTraces result() { return std::move(found_); }

  void add(const fs::path& path, const std::string& what) {
    found_.lines.push_back(printable(path.lexically_relative(run_folder_).string()) + ": " + what);
  }

  void add_checkpoint(const fs::path& path) {
    const std::string fault = checkpoint_fault(path.string(), ProofDepth::kHeaders);
    if (!fault.empty()) return add(path, "an incomplete checkpoint: " + fault);
    int64_t steps = 0;
    try {
      steps = steps_of_checkpoint(path.string());
    } catch (const Error& error) {
      return add(path, "an incomplete checkpoint: " + error.message());
    }
    add(path, fmt::format("a complete checkpoint of step {}", steps));
    if (steps < newest_) return;
    newest_ = steps;
    found_.complete = path.string();
    found_.right_name = (run_folder_ / "checkpoints" / fmt::format("step={}", steps)).string();
  }

  /// Checkpoints step=N in a folder that is not the one of checkpoints.
  void look_into(const fs::path& folder) {
    for (const fs::path& path : entries_of(folder)) {
      const bool is_named = path.filename().string().starts_with("step=");
      if (is_named && has_checkpoint_files(path)) add_checkpoint(path);
    }
  }

  void look_at(const fs::path& path) {
    std::error_code ignored;
    const std::string name = path.filename().string();
    const std::string dead = dead_link(path);
    if (is_interrupted_save(name)) return;
    if (!dead.empty()) return add(path, dead);
    if (has_checkpoint_files(path)) return add_checkpoint(path);
    if (fs::is_directory(path, ignored)) return look_into(path);
    if (name == "last" || name == "best") add(path, "a file that is no link to a checkpoint");
  }

 private:
  fs::path run_folder_;
  CheckpointTraces found_;
  int64_t newest_ = 0;
};

/// "step=2, step=4", the newest at the end.
std::string names_of(const fs::path& folder) {
  const auto all = list_checkpoints(folder);
  std::string names = all.size() > kMaxNamed ? "..." : "";
  for (size_t i = all.size() - std::min(all.size(), kMaxNamed); i < all.size(); ++i) {
    names += (names.empty() ? "" : ", ") + printable(all[i].second.filename().string());
  }
  return names.empty() ? "none" : names;
}

}  // namespace

CheckpointTraces find_traces(const fs::path& run_folder) {
  const fs::path folder = run_folder / "checkpoints";
  std::error_code ignored;
  if (!list_checkpoints(folder).empty()) return {};
  Search search(run_folder);
  const std::string dead = dead_link(folder);
  if (!dead.empty()) search.add(folder, dead);
  if (fs::exists(folder, ignored) && !fs::is_directory(folder, ignored)) {
    search.add(folder, "a file, but expected the folder of checkpoints");
  }
  for (const fs::path& path : entries_of(folder)) search.look_at(path);
  search.look_into(run_folder);
  for (const fs::path& path : entries_of(run_folder)) {
    // The folder bad_steps has checkpoints of its own, for --replay.
    const bool is_own = path.filename() == "checkpoints" || path.filename() == "bad_steps";
    if (!is_own && fs::is_directory(path, ignored)) search.look_into(path);
  }
  return search.result();
}

void check_traces(const fs::path& run_folder) {
  CheckpointTraces found = find_traces(run_folder);
  if (found.lines.empty()) return;
  if (found.lines.size() > kMaxNamed) {
    const size_t more = found.lines.size() - kMaxNamed;
    found.lines.resize(kMaxNamed);
    found.lines.push_back(fmt::format("and {} more", more));
  }
  throw_lost_checkpoints(run_folder.string(), found.lines, found.complete, found.right_name);
}

void check_pointer(const fs::path& folder) {
  const fs::path last = folder / "last";
  std::error_code ignored;
  if (fs::is_symlink(last, ignored) || !fs::exists(last, ignored)) return;
  throw_no_pointer(last.string(), fs::is_directory(last, ignored) ? "a folder" : "a file",
                   names_of(folder));
}

std::string lost_pointer(const fs::path& folder, const fs::path& taken) {
  const std::string dead = dead_link(folder / "last");
  if (dead.empty()) return "";
  return pointer_leads_nowhere((folder / "last").string(), dead, taken.string());
}

std::string pointer_fault(const fs::path& folder) {
  const std::string names = names_of(folder);
  if (names == "none") return "it is the folder of a run that has not written a checkpoint yet";
  std::string what = dead_link(folder / "last");
  std::error_code ignored;
  if (what.empty()) {
    what = fs::exists(folder / "last", ignored) ? "no link to a checkpoint" : "missing";
  }
  return fmt::format("its checkpoints/last is {}; its checkpoints: {}; name one of them", what,
                     names);
}

}  // namespace s2s
