#include "weights/verify_weights.h"

#include <ATen/core/Tensor.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "s2s/error.h"
#include "s2s/nn/weights.h"
#include "weights/checkpoint_files.h"
#include "weights/checkpoint_proof.h"
#include "weights/finite.h"
#include "weights/weight_folder.h"
#include "weights/weights_errors.h"

namespace s2s {

namespace fs = std::filesystem;

namespace {

class ShardVerifier {
 public:
  explicit ShardVerifier(const std::string& folder) : folder_(folder) {}

  void run() {
    verdict_.attempt([&] { files_ = CheckedFiles::open(folder_); });
    if (files_ == nullptr || files_->index() == nullptr) return;
    const std::string index = files_->path(CheckpointIndex::kFile);
    const bool is_weights_only = says_weights_only(try_read_state(folder_));
    for (const std::string& fault : index_faults(*files_->index(), is_weights_only)) {
      verdict_.findings.push_back(index + ": " + fault);
    }
    for (const auto& [name, sums] : files_->index()->files) check_file(name);
    find_strangers();
    for (const auto& [name, group] : files_->index()->groups) check_group(name, group);
  }
  WeightsVerdict take() { return std::move(verdict_); }

 private:
  void check_file(const std::string& name) {
    const size_t before = verdict_.findings.size();
    verdict_.attempt([&] { files_->check_whole(name); });
    if (verdict_.findings.size() > before) damaged_.insert(name);
    if (!name.ends_with(".safetensors")) return;
    ++verdict_.num_files;
    if (damaged_.count(name) == 0) verdict_.attempt([&] { find_unlisted(name); });
  }

  /// Finds tensors that the index leaves out: whoever loads the checkpoint would not get them.
  void find_unlisted(const std::string& file) {
    const SafetensorsFile& tensors = files_->tensors(file);
    for (const std::string& name : unlisted_tensors(tensors, file, *files_->index())) {
      verdict_.findings.push_back(fmt::format("{}: it does not list tensor '{}', which {} has",
                                              files_->path(CheckpointIndex::kFile), name,
                                              tensors.path()));
    }
  }

  /// Finds files that the index does not list. They do not belong to the checkpoint.
  void find_strangers() {
    std::error_code problem;
    for (const auto& entry : fs::recursive_directory_iterator(folder_, problem)) {
      std::error_code ignored;
      if (fs::is_directory(entry.symlink_status(ignored))) continue;
      const std::string name = entry.path().lexically_relative(folder_).string();
      if (name == CheckpointIndex::kFile || files_->index()->files.count(name) != 0) continue;
      verdict_.findings.push_back(fmt::format(
          "{} does not belong to this checkpoint: index.json (of {} rank{}) does not list it",
          entry.path().string(), files_->index()->num_ranks,
          files_->index()->num_ranks == 1 ? "" : "s"));
    }
  }

  void check_group(const std::string& name, const IndexGroup& group) {
    for (const auto& [tensor_name, tensor] : group) {
      ++verdict_.num_tensors;
      verdict_.num_bytes +=
          static_cast<uint64_t>(count_elements(tensor.sizes)) * c10::elementSize(tensor.dtype);
      // Runs are expanded below. The size of an existing file limits their number.
      const bool is_damaged =
          std::any_of(tensor.shards.begin(), tensor.shards.end(),
                      [&](const StoredShard& shard) { return damaged_.count(shard.file) != 0; });
      const std::string fault = is_damaged ? "" : tiling_fault(tensor);
      if (!fault.empty()) {
        verdict_.findings.push_back(fmt::format(
            "{}: tensor '{}': {}", files_->path(CheckpointIndex::kFile), tensor_name, fault));
      }
      for (const StoredShard& shard : tensor.shards) {
        if (damaged_.count(shard.file) != 0) continue;  // reported once per file
        verdict_.attempt([&] { check_shard(name, tensor_name, tensor, shard); });
      }
    }
  }

  void check_shard(const std::string& group, const std::string& name, const TensorEntry& tensor,
                   const StoredShard& shard) {
    const SafetensorsFile& file = files_->tensors(shard.file);
    const at::Tensor elements = file.tensor(name).view({-1});
    const std::vector<TensorSpan> spans = to_spans(shard.runs);
    if (elements.numel() != count_elements(spans) || elements.scalar_type() != tensor.dtype) {
      throw weights_errors::tensor_format(
          file.path(), name, "it is not the shard of '" + group + "' that index.json lists");
    }
    const std::optional<NotFinite> bad = find_not_finite(elements);
    file.release(name);
    if (!bad) return;
    const std::vector<int64_t> index =
        coordinates(tensor.sizes, element_at(spans, bad->index.at(0)));
    throw weights_errors::not_finite(file.path(), name, index, bad->value);
  }

  std::string folder_;
  std::shared_ptr<CheckedFiles> files_;
  std::set<std::string> damaged_;
  WeightsVerdict verdict_;
};

class WeightVerifier {
 public:
  /// Reads one file. No other file may have its tensors.
  void read(const std::string& path) {
    verdict_.attempt([&] {
      const WeightFiles file = WeightFiles::open(path);
      ++verdict_.num_files;
      for (const auto& [name, facts] : file.facts()) {
        const auto [place, is_new] = home_.emplace(name, path);
        if (!is_new) {
          find(fmt::format("tensor '{}' is in '{}' and in '{}'", name, place->second, path));
        }
        verdict_.attempt([&] { read_tensor(file, name); });
      }
    });
  }

  void compare(const WeightIndex& index) {
    for (const auto& [name, file] : index.home) {
      if (!fs::exists(file)) continue;  // reported once per file
      const auto found = home_.find(name);
      if (found == home_.end() || found->second != file) {
        find(fmt::format("the index '{}' says that tensor '{}' is in '{}', which lacks it",
                         index.path, name, file));
      }
    }
    for (const auto& [name, file] : home_) {
      if (index.home.count(name) != 0) continue;
      find(fmt::format("'{}' has tensor '{}', which the index '{}' does not name", file, name,
                       index.path));
    }
    const bool is_complete = verdict_.findings.empty();
    if (is_complete && index.total_bytes && *index.total_bytes != verdict_.num_bytes) {
      find(fmt::format("the index '{}' says that the tensors have {} bytes, they have {}",
                       index.path, *index.total_bytes, verdict_.num_bytes));
    }
  }

  void find(std::string what) { verdict_.findings.push_back(std::move(what)); }
  WeightsVerdict take() { return std::move(verdict_); }

 private:
  void read_tensor(const WeightFiles& file, const std::string& name) {
    const at::Tensor tensor = file.tensor(name);
    ++verdict_.num_tensors;
    verdict_.num_bytes += static_cast<uint64_t>(tensor.numel()) * tensor.element_size();
    check_finite(file.path(), name, tensor);
    file.release(name);
  }

  WeightsVerdict verdict_;
  std::map<std::string, std::string> home_;
};

}  // namespace

WeightsVerdict verify_checkpoint(const std::string& folder) {
  ShardVerifier verifier(folder);
  verifier.run();
  return verifier.take();
}

WeightsVerdict verify_weights(const std::string& path) {
  WeightVerifier verifier;
  WeightFolder folder;
  try {
    folder = find_weights(path);
  } catch (const Error& error) {
    if (!fs::exists(path)) throw;
    verifier.find(error.what());
    return verifier.take();
  }
  if (folder.index) {
    for (const auto& [file, num_tensors] : folder.index->files()) {
      if (fs::exists(file)) {
        verifier.read(file);
      } else {
        verifier.find(
            fmt::format("'{}' is missing; the index expects {} tensors in it", file, num_tensors));
      }
    }
    verifier.compare(*folder.index);
  }
  for (const std::string& file : folder.files) verifier.read(file);
  return verifier.take();
}

}  // namespace s2s
