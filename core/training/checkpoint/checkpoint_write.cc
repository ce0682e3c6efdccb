#include "checkpoint/checkpoint_write.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/atomic_file.h"
#include "base/io_errors.h"
#include "base/number_text.h"
#include "checkpoint/checkpoint_state.h"
#include "weights/checkpoint_proof.h"
#include "weights/safetensors.h"

namespace s2s {
namespace {

namespace fs = std::filesystem;

/// Returns the number N of a folder name step=N, or -1.
int64_t step_of(const std::string& name) {
  if (!name.starts_with("step=")) return -1;
  return read_number<int64_t>(std::string_view(name).substr(5)).value_or(-1);
}

/// Metadata of a file with shards. The index can be rebuilt from it.
std::map<std::string, std::string> metadata_of(const RankFile& file, int64_t rank,
                                               int64_t num_ranks) {
  if (num_ranks == 1 || file.shards.empty()) return {};
  nlohmann::ordered_json shards = nlohmann::ordered_json::object();
  for (const auto& [name, tensor] : file.tensors) {
    const TensorEntry& entry = file.shards.at(name);
    if (entry.shards.empty()) continue;  // a tensor without elements
    nlohmann::ordered_json runs = nlohmann::ordered_json::array();
    for (const SpanRun& run : entry.shards.at(0).runs) {
      runs.push_back({run.begin, run.count, run.stride, run.repeat});
    }
    shards[name] = {{"shape", entry.sizes}, {"runs", std::move(runs)}};
  }
  return {{"s2s.rank", std::to_string(rank)},
          {"s2s.num_ranks", std::to_string(num_ranks)},
          {"s2s.pieces", shards.dump()}};
}

/// Suffixes of temporary names that saves do not use and remove_partials cleans up. kRemoved: a
/// checkpoint that rotation is removing. kReplaced: a checkpoint that is being replaced on a file
/// system that cannot exchange names.
constexpr std::string_view kRemoved = ".removed.partial";
constexpr std::string_view kReplaced = ".replaced.partial";

fs::path beside(const fs::path& target, std::string_view suffix) {
  return target.parent_path() / fmt::format(".{}{}", target.filename().string(), suffix);
}

/// Renames a finished folder. An existing folder of that name (from the same step, after a resume
/// from an older checkpoint) is moved away in the same atomic operation.
void give_name(const fs::path& finished, const fs::path& name) {
  if (!fs::exists(name)) return fs::rename(finished, name);
  if (renameat2(AT_FDCWD, finished.c_str(), AT_FDCWD, name.c_str(), RENAME_EXCHANGE) == 0) return;
  const fs::path replaced = beside(name, kReplaced);  // for file systems that cannot exchange names
  fs::remove_all(replaced);
  fs::rename(name, replaced);
  fs::rename(finished, name);
}

/// Removes a folder. Adds a line if it could not be removed.
void remove_folder(const fs::path& folder, std::vector<std::string>& lines) {
  std::error_code problem;
  fs::remove_all(folder, problem);
  if (problem) lines.push_back(fmt::format("{}: {}", folder.string(), problem.message()));
}

/// Returns NAME of `.NAMEsuffix`, or "" for other names.
std::string name_within(const std::string& entry, std::string_view suffix) {
  const bool is_ours = entry.starts_with(".step=") && entry.ends_with(suffix);
  return is_ours ? entry.substr(1, entry.size() - 1 - suffix.size()) : "";
}

/// Removes all entries with such a name. Returns a line for each entry that could not be removed,
/// and for a folder that cannot be listed.
std::vector<std::string> remove_named(const fs::path& folder, std::string_view suffix) {
  std::vector<std::string> lines;
  std::error_code problem;
  const fs::directory_iterator entries(folder, problem);
  if (problem && !says_no_file(problem.value())) {
    lines.push_back(fmt::format("{}: {}", folder.string(), problem.message()));
  }
  for (const auto& entry : entries) {
    const std::string name = entry.path().filename().string();
    if (!name_within(name, suffix).empty()) remove_folder(entry.path(), lines);
  }
  return lines;
}

/// Restores a checkpoint that lost its name when give_name was killed between two renames.
void restore_replaced(const fs::path& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = name_within(entry.path().filename().string(), kReplaced);
    if (name.empty() || fs::exists(folder / name)) continue;
    if (!checkpoint_fault(entry.path().string(), ProofDepth::kHeaders).empty()) continue;
    rename_durably(entry.path().string(), (folder / name).string());
  }
}

fs::path parent_of(const fs::path& target) {
  return target.has_parent_path() ? target.parent_path() : fs::path(".");
}

/// Renames a checkpoint, syncs, and then removes it, so that a partly removed checkpoint never has
/// the final name.
/// Errors: [io/write], std::filesystem::filesystem_error when the rename fails.
void remove_checkpoint(const fs::path& folder) {
  const fs::path removed = beside(folder, kRemoved);
  std::error_code ignored;
  fs::remove_all(removed, ignored);
  // Sync before removing files: a power failure must not leave half a checkpoint under its name.
  rename_durably(folder.string(), removed.string());
  fs::remove_all(removed, ignored);
}

struct Candidate {
  int64_t step = 0;
  std::filesystem::path path;
  std::optional<double> monitored;
};

/// Returns the complete checkpoints, checked as deeply as a resume checks them: an incomplete one
/// must not displace a complete one. The one just saved is already verified.
std::vector<Candidate> find_candidates(const std::string& folder, const Rotation& rotation,
                                       int64_t saved) {
  std::vector<Candidate> all;
  for (const auto& [step, path] : list_checkpoints(folder)) {
    const bool is_whole =
        step == saved || checkpoint_fault(path.string(), ProofDepth::kHeaders).empty();
    if (!is_whole) continue;
    all.push_back({step, path, std::nullopt});
    if (rotation.is_monitored) all.back().monitored = monitored_of(path.string());
  }
  return all;
}

bool is_better(const Candidate& a, const Candidate& b, bool is_larger_better) {
  if (a.monitored.has_value() != b.monitored.has_value()) return a.monitored.has_value();
  if (a.monitored && *a.monitored != *b.monitored) {
    return (*a.monitored > *b.monitored) == is_larger_better;
  }
  return a.step > b.step;
}

}  // namespace

fs::path partial_name(const fs::path& target) { return beside(target, ".partial"); }

void make_partial(const fs::path& target) {
  const fs::path partial = partial_name(target);
  make_folders(parent_of(target).string());
  fs::remove_all(partial);
  fs::create_directory(partial);
}

CheckpointIndex write_rank_files(const fs::path& folder, const std::vector<RankFile>& files,
                                 int64_t rank, int64_t num_ranks) {
  CheckpointIndex index;
  index.num_ranks = num_ranks;
  for (const RankFile& file : files) {
    const std::string name = rank_file_name(file.group, rank, num_ranks);
    index.files[name] = write_safetensors((folder / name).string(), file.tensors,
                                          metadata_of(file, rank, num_ranks));
    if (file.group == "random") continue;
    IndexGroup& group = index.groups[file.group];
    group = file.shards;
    for (auto& [tensor_name, tensor] : group) {
      for (StoredShard& shard : tensor.shards) shard.file = name;
    }
  }
  const std::string fault = header_fault(folder.string(), index);
  if (!fault.empty()) throw std::runtime_error("a file differs from what was written: " + fault);
  return index;
}

void attach_copy(const fs::path& from, const fs::path& folder) {
  if (!fs::exists(from)) return;
  const fs::path copy = folder / from.filename();
  if (fs::is_directory(from)) {
    fs::create_directory(copy);
    for (const auto& entry : fs::directory_iterator(from)) attach_copy(entry.path(), copy);
  } else {
    fs::copy_file(from, copy);
  }
  sync_to_disk(copy.string());
}

void publish(const fs::path& target, CheckpointIndex index) {
  for (const auto& [group_name, group] : index.groups) {
    for (const auto& [name, tensor] : group) {
      const std::string fault = tiling_fault(tensor);
      if (fault.empty()) continue;
      throw std::runtime_error(
          fmt::format("tensor '{}': {}; the shards of a strategy must contain every element "
                      "exactly once (LocalShard::is_owner)",
                      name, fault));
    }
  }
  const fs::path partial = partial_name(target);
  for (const auto& entry : fs::recursive_directory_iterator(partial)) {
    if (!entry.is_regular_file()) continue;
    const std::string name = fs::relative(entry.path(), partial).string();
    if (index.files.count(name) == 0) index.files[name] = checksums_of_file(entry.path().string());
  }
  write_file_atomically((partial / CheckpointIndex::kFile).string(),
                        format_checkpoint_index(index));
  sync_to_disk(partial.string());
  const std::string fault = checkpoint_fault(partial.string(), ProofDepth::kLengths);
  if (!fault.empty()) throw std::runtime_error("the written checkpoint is not complete: " + fault);
  give_name(partial, target);
}

void settle(const fs::path& target) {
  // Make the new name durable before older checkpoints are removed.
  sync_to_disk(parent_of(target).string());
  fs::remove_all(partial_name(target));
  fs::remove_all(beside(target, kReplaced));
}

void point_link(const fs::path& target, const std::string& name) {
  const fs::path link = parent_of(target) / name;
  if (fs::exists(fs::symlink_status(link)) && !fs::is_symlink(link)) {
    if (link == target) return;  // the name of the checkpoint itself
    throw std::runtime_error(link.string() + " exists and is no link");
  }
  const fs::path fresh = parent_of(target) / ("." + name + ".new");
  fs::remove(fresh);
  fs::create_symlink(target.filename(), fresh);
  rename_durably(fresh.string(), link.string());
}

void remove_dead_links(const fs::path& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (!entry.is_symlink(ignored) || entry.path().filename() == "last") continue;
    const bool is_ours = step_of(fs::read_symlink(entry.path(), ignored).string()) >= 0;
    if (is_ours && !fs::exists(entry.path(), ignored)) fs::remove(entry.path(), ignored);
  }
}

std::vector<std::string> remove_partials(const fs::path& folder) {
  restore_replaced(folder);
  return remove_named(folder, ".partial");
}

std::vector<std::pair<int64_t, fs::path>> list_checkpoints(const fs::path& folder) {
  std::vector<std::pair<int64_t, fs::path>> found;
  std::error_code problem;
  const fs::directory_iterator entries(folder, problem);
  // A folder that cannot be listed must not count as empty. Otherwise a run would start anew.
  if (problem && !says_no_file(problem.value())) throw read_error(folder.string(), problem.value());
  for (const auto& entry : entries) {
    const int64_t step = step_of(entry.path().filename().string());
    if (step >= 0 && !entry.is_symlink(problem)) found.emplace_back(step, entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<std::string> rotate_checkpoints(const std::string& folder, const Rotation& rotation,
                                            int64_t saved) {
  if (rotation.keep < 0 && !rotation.is_monitored) return {};
  std::vector<Candidate> all = find_candidates(folder, rotation, saved);
  std::sort(all.begin(), all.end(), [&](const Candidate& a, const Candidate& b) {
    return is_better(a, b, rotation.is_larger_better);
  });
  if (!all.empty() && all.front().monitored) point_link(all.front().path, "best");
  const size_t keep = rotation.keep < 0 ? all.size() : static_cast<size_t>(rotation.keep);
  for (size_t i = keep; i < all.size(); ++i) {
    if (all[i].step != saved) remove_checkpoint(all[i].path);
  }
  return remove_named(folder, kRemoved);
}

}  // namespace s2s
