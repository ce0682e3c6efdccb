#include "weights/checked_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/io_errors.h"
#include "weights/checkpoint_errors.h"
#include "weights/checkpoint_proof.h"
#include "weights/weight_mapping.h"

namespace s2s {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// True when state.json is of a time that has an index.
bool promises_index(const fs::path& folder) {
  const json state = try_read_state(folder.string());
  if (!state.is_object()) return false;
  const auto format = state.find("format");
  return format != state.end() && format->is_number_integer() && format->get<int64_t>() > 1;
}

std::string block_text(uint64_t block, uint64_t bytes) {
  const uint64_t begin = block * kChecksumBlockBytes;
  return fmt::format("the checksum of bytes {} to {} is another", begin,
                     std::min(begin + kChecksumBlockBytes, bytes) - 1);
}

}  // namespace

bool is_indexed(const std::string& folder) {
  return fs::exists(fs::path(folder) / CheckpointIndex::kFile) || promises_index(folder);
}

std::shared_ptr<CheckedFiles> CheckedFiles::open(const std::string& folder) {
  std::shared_ptr<CheckedFiles> files(new CheckedFiles(folder));
  if (is_indexed(folder)) files->index_ = read_checkpoint_index(folder);
  return files;
}

std::string CheckedFiles::path(const std::string& file) const {
  return (fs::path(folder_) / file).string();
}

const FileChecksums* CheckedFiles::sums(const std::string& file) const {
  if (!index_) return nullptr;
  const auto found = index_->files.find(file);
  if (found == index_->files.end()) {
    throw checkpoint_errors::damaged(path(CheckpointIndex::kFile), "it does not list " + file);
  }
  return &found->second;
}

void CheckedFiles::require(const std::string& file) const {
  std::error_code problem;
  const uint64_t bytes = fs::file_size(path(file), problem);
  if (problem && !says_no_file(problem.value())) throw read_error(path(file), problem.value());
  if (problem) throw checkpoint_errors::incomplete(folder_, file);
  const FileChecksums* const expected = sums(file);
  if (expected != nullptr && expected->bytes != bytes) {
    throw checkpoint_errors::damaged(
        path(file), fmt::format("it has {} bytes and had {}", bytes, expected->bytes));
  }
}

const SafetensorsFile& CheckedFiles::tensors(const std::string& file) {
  const auto known = open_.find(file);
  if (known != open_.end()) return known->second.tensors;
  require(file);
  Open opened{SafetensorsFile::open(path(file)), {}};
  if (const FileChecksums* const expected = sums(file)) {
    opened.is_checked.resize(expected->blocks.size());
  }
  return open_.emplace(file, std::move(opened)).first->second.tensors;
}

void CheckedFiles::check(const std::string& file, uint64_t offset, uint64_t bytes) {
  const FileChecksums* const expected = sums(file);
  if (expected == nullptr || bytes == 0) return;
  const WeightMapping& mapping = tensors(file).mapping();
  std::vector<bool>& is_checked = open_.at(file).is_checked;
  const uint64_t last = (offset + bytes - 1) / kChecksumBlockBytes;
  for (uint64_t block = offset / kChecksumBlockBytes; block <= last; ++block) {
    if (is_checked[block]) continue;
    const uint64_t begin = block * kChecksumBlockBytes;
    const uint64_t count = std::min(kChecksumBlockBytes, expected->bytes - begin);
    map_pages(mapping.begin() + begin, count);
    if (checksum_of(mapping.begin() + begin, count) != expected->blocks[block]) {
      throw checkpoint_errors::damaged(path(file), block_text(block, expected->bytes));
    }
    is_checked[block] = true;
  }
}

void CheckedFiles::check_whole(const std::string& file) const {
  require(file);
  const FileChecksums* const expected = sums(file);
  if (expected == nullptr) return;
  const FileChecksums found = checksums_of_file(path(file));
  const auto differs = std::mismatch(expected->blocks.begin(), expected->blocks.end(),
                                     found.blocks.begin(), found.blocks.end());
  if (differs.first == expected->blocks.end()) return;
  const auto block = static_cast<uint64_t>(differs.first - expected->blocks.begin());
  throw checkpoint_errors::damaged(path(file), block_text(block, expected->bytes));
}

}  // namespace s2s
