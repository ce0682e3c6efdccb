#include "train/checkpoint_write.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/atomic_file.h"
#include "weights/safetensors.h"

namespace s2s {
namespace {

namespace fs = std::filesystem;

/// What a file says of itself where it holds pieces: the index could be made again from it.
std::map<std::string, std::string> metadata_of(const PieceFile& file, int64_t rank,
                                               int64_t num_ranks) {
  if (num_ranks == 1 || file.pieces.empty()) return {};
  nlohmann::ordered_json pieces = nlohmann::ordered_json::object();
  for (const auto& [name, tensor] : file.tensors) {
    const PieceTensor& piece = file.pieces.at(name);
    if (piece.pieces.empty()) continue;  // a tensor without numbers
    nlohmann::ordered_json runs = nlohmann::ordered_json::array();
    for (const SpanRun& run : piece.pieces.at(0).runs) {
      runs.push_back({run.begin, run.count, run.stride, run.repeat});
    }
    pieces[name] = {{"shape", piece.sizes}, {"runs", std::move(runs)}};
  }
  return {{"s2s.rank", std::to_string(rank)},
          {"s2s.num_ranks", std::to_string(num_ranks)},
          {"s2s.pieces", pieces.dump()}};
}

/// Gives a finished folder its name. What has the name already (the same step again, after a
/// resume from an older one) comes away in the same moment.
void give_name(const fs::path& finished, const fs::path& name) {
  if (!fs::exists(name)) return fs::rename(finished, name);
  if (renameat2(AT_FDCWD, finished.c_str(), AT_FDCWD, name.c_str(), RENAME_EXCHANGE) != 0) {
    remove_checkpoint(name);  // a file system that cannot exchange
    return fs::rename(finished, name);
  }
  fs::remove_all(finished);
}

fs::path parent_of(const fs::path& target) {
  return target.has_parent_path() ? target.parent_path() : fs::path(".");
}

}  // namespace

std::string piece_file_name(const std::string& group, int64_t rank, int64_t num_ranks) {
  if (num_ranks == 1) return group + ".safetensors";
  return fmt::format("{}-{:05}-of-{:05}.safetensors", group, rank, num_ranks);
}

fs::path partial_name(const fs::path& target) {
  return target.parent_path() / fmt::format(".{}.partial", target.filename().string());
}

void make_partial(const fs::path& target) {
  const fs::path partial = partial_name(target);
  fs::create_directories(parent_of(target));
  fs::remove_all(partial);
  fs::create_directory(partial);
}

PieceIndex write_pieces(const fs::path& folder, const std::vector<PieceFile>& files, int64_t rank,
                        int64_t num_ranks) {
  PieceIndex index;
  index.num_ranks = num_ranks;
  for (const PieceFile& file : files) {
    const std::string name = piece_file_name(file.group, rank, num_ranks);
    index.files[name] = write_safetensors((folder / name).string(), file.tensors,
                                          metadata_of(file, rank, num_ranks));
    if (file.group == "random") continue;
    PieceGroup& group = index.groups[file.group];
    group = file.pieces;
    for (auto& [tensor_name, tensor] : group) {
      for (StoredPiece& piece : tensor.pieces) piece.file = name;
    }
  }
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

void publish(const fs::path& target, PieceIndex index) {
  for (const auto& [group_name, group] : index.groups) {
    for (const auto& [name, tensor] : group) {
      const std::string fault = tiling_fault(tensor);
      if (fault.empty()) continue;
      throw std::runtime_error(
          fmt::format("of {} {}, and a strategy's parts have to hold every "
                      "number once (TensorPart::is_owner)",
                      name, fault));
    }
  }
  const fs::path partial = partial_name(target);
  for (const auto& entry : fs::recursive_directory_iterator(partial)) {
    if (!entry.is_regular_file()) continue;
    const std::string name = fs::relative(entry.path(), partial).string();
    if (index.files.count(name) == 0) index.files[name] = checksums_of_file(entry.path().string());
  }
  write_file_atomically((partial / PieceIndex::kFile).string(), format_piece_index(index));
  sync_to_disk(partial.string());
  give_name(partial, target);
  sync_to_disk(parent_of(target).string());
}

void point_last(const fs::path& target) {
  const fs::path fresh = parent_of(target) / ".last.new";
  fs::remove(fresh);
  fs::create_symlink(target.filename(), fresh);
  rename_durably(fresh.string(), (parent_of(target) / "last").string());
}

void remove_checkpoint(const fs::path& folder) {
  // A name that remove_partials knows, and that no save takes.
  const fs::path removed =
      folder.parent_path() / fmt::format(".{}.removed.partial", folder.filename().string());
  fs::remove_all(removed);
  fs::rename(folder, removed);
  fs::remove_all(removed);
}

void remove_partials(const fs::path& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(".step=") && name.ends_with(".partial")) fs::remove_all(entry.path());
  }
}

int64_t step_of(const std::string& name) {
  int64_t step = -1;
  if (!name.starts_with("step=")) return -1;
  const char* begin = name.data() + 5;
  const char* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(begin, end, step);
  return error == std::errc() && stop == end ? step : -1;
}

std::vector<std::pair<int64_t, fs::path>> list_checkpoints(const fs::path& folder) {
  std::vector<std::pair<int64_t, fs::path>> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const int64_t step = step_of(entry.path().filename().string());
    if (step >= 0) found.emplace_back(step, entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace s2s
