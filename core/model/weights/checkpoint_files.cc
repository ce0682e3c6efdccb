#include "weights/checkpoint_files.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>

#include "base/io_errors.h"
#include "s2s/foreign_text.h"
#include "weights/checkpoint_proof.h"
#include "weights/shape_text.h"
#include "weights/weight_mapping.h"
#include "weights/weights_errors.h"

namespace s2s {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// Returns true when state.json has the version that requires an index.
bool promises_index(const fs::path& folder) {
  const json state = try_read_state(folder.string());
  if (!state.is_object()) return false;
  const auto format = state.find("format");
  return format != state.end() && format->is_number_integer() && format->get<int64_t>() > 1;
}

std::string block_text(uint64_t block, uint64_t bytes) {
  const uint64_t begin = block * kChecksumBlockBytes;
  return fmt::format("the checksum of bytes {} to {} does not match", begin,
                     std::min(begin + kChecksumBlockBytes, bytes) - 1);
}

std::set<std::string> files_of(const IndexGroup& group) {
  std::set<std::string> files;
  for (const auto& [name, tensor] : group) {
    for (const StoredShard& shard : tensor.shards) files.insert(shard.file);
  }
  return files;
}

/// Returns the tensors of an unsharded file as one shard each.
IndexGroup group_of(const SafetensorsFile& tensors, const std::string& file) {
  IndexGroup group;
  for (const auto& [name, entry] : tensors.entries()) {
    TensorEntry tensor{entry.dtype, entry.sizes, {}};
    const int64_t numel = count_elements(entry.sizes);
    if (numel > 0) tensor.shards.push_back({file, {{0, numel, 0, 1}}});
    group[name] = std::move(tensor);
  }
  return group;
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
  // Of a stranger's folder, a link could be a file of somebody else.
  if (const std::string target = link_out_of(path(file), folder_); !target.empty()) {
    throw checkpoint_errors::damaged(
        path(file), fmt::format("it is a link out of its folder, to {}, expected a file", target));
  }
  std::error_code problem;
  const uint64_t bytes = fs::file_size(path(file), problem);
  if (problem && !says_no_file(problem.value())) throw read_error(path(file), problem.value());
  if (problem) throw checkpoint_errors::incomplete(folder_, file);
  const FileChecksums* const expected = sums(file);
  if (expected != nullptr && expected->bytes != bytes) {
    throw checkpoint_errors::damaged(
        path(file), fmt::format("it has {} bytes, expected {}", bytes, expected->bytes));
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

/// Elements that are contiguous in a tensor and in a file.
struct ShardFiles::Located {
  TensorSpan span;
  const std::string* file = nullptr;
  StoredBytes bytes;  // of the shard
  int64_t place = 0;  // index of the first of these elements in the shard
};

ShardFiles ShardFiles::open(std::shared_ptr<CheckedFiles> files, const std::string& group) {
  ShardFiles opened;
  opened.files_ = std::move(files);
  CheckedFiles& checked = *opened.files_;
  const std::string single = group + ".safetensors";
  if (checked.index() == nullptr) {
    opened.shards_ = group_of(checked.tensors(single), single);
  } else {
    const auto found = checked.index()->groups.find(group);
    if (found == checked.index()->groups.end()) {
      throw checkpoint_errors::incomplete(checked.folder(), single);
    }
    opened.shards_ = found->second;
  }
  const std::set<std::string> in_use = files_of(opened.shards_);
  for (const std::string& file : in_use) checked.require(file);
  opened.path_ = in_use.size() == 1 ? checked.path(*in_use.begin()) : checked.folder();
  for (const auto& [name, tensor] : opened.shards_) {
    const std::string fault = tiling_fault(tensor);
    if (!fault.empty()) {
      throw checkpoint_errors::damaged(checked.path(CheckpointIndex::kFile),
                                       fmt::format("tensor '{}': {}", name, fault));
    }
    opened.entries_[name] = {tensor.dtype, tensor.sizes, 0, 0};
  }
  return opened;
}

const TensorEntry& ShardFiles::known(const std::string& name) const {
  const auto found = shards_.find(name);
  if (found != shards_.end()) return found->second;
  throw weights_errors::no_tensor(path_, name, shards_);
}

std::vector<ShardFiles::Located> ShardFiles::locate(const std::string& name) const {
  const TensorEntry& tensor = known(name);
  std::vector<Located> all;
  for (const StoredShard& shard : tensor.shards) {
    const SafetensorsFile& file = files_->tensors(shard.file);
    const std::vector<TensorSpan> spans = to_spans(shard.runs);
    const std::optional<StoredBytes> bytes = file.stored_bytes(name);
    const uint64_t expected =
        static_cast<uint64_t>(count_elements(spans)) * c10::elementSize(tensor.dtype);
    if (!bytes || bytes->bytes != expected || file.entries().at(name).dtype != tensor.dtype) {
      throw checkpoint_errors::damaged(file.path(), "it lacks the elements of " + name);
    }
    int64_t place = 0;
    for (const TensorSpan& span : spans) {
      all.push_back({span, &shard.file, *bytes, place});
      place += span.count;
    }
  }
  std::sort(all.begin(), all.end(),
            [](const Located& a, const Located& b) { return a.span.begin < b.span.begin; });
  return all;
}

at::Tensor ShardFiles::tensor(const std::string& name) const {
  const TensorEntry& tensor = known(name);
  const int64_t numel = count_elements(tensor.sizes);
  return elements(name, {{0, numel}}).view(tensor.sizes);
}

at::Tensor ShardFiles::elements(const std::string& name,
                                const std::vector<TensorSpan>& spans) const {
  const TensorEntry& tensor = known(name);
  const std::vector<Located> stored = locate(name);
  const auto width = static_cast<int64_t>(c10::elementSize(tensor.dtype));
  at::Tensor out;  // defined when a view is not possible
  char* to = nullptr;
  for (const TensorSpan& span : spans) {
    int64_t next = span.begin;
    const int64_t end = span.begin + span.count;
    S2S_ASSERT(next >= 0 && end <= count_elements(tensor.sizes), "a part is within its tensor");
    auto at = std::upper_bound(stored.begin(), stored.end(), next,
                               [](int64_t n, const Located& l) { return n < l.span.begin; });
    if (at != stored.begin()) --at;
    for (; next < end; ++at) {
      const int64_t count = std::min(end, at->span.begin + at->span.count) - next;
      const int64_t place = at->place + next - at->span.begin;
      const uint64_t offset = at->bytes.offset + static_cast<uint64_t>(place * width);
      files_->check(*at->file, offset, static_cast<uint64_t>(count * width));
      if (spans.size() == 1 && count == span.count) {
        return files_->tensors(*at->file).tensor(name).view({-1}).narrow(0, place, count);
      }
      if (!out.defined()) {
        out = at::empty({count_elements(spans)}, at::TensorOptions().dtype(tensor.dtype));
        to = static_cast<char*>(out.mutable_data_ptr());
      }
      std::memcpy(to, at->bytes.mapping->begin() + offset, static_cast<size_t>(count * width));
      to += count * width;
      next += count;
    }
  }
  return out.defined() ? out : at::empty({0}, at::TensorOptions().dtype(tensor.dtype));
}

std::optional<StoredBytes> ShardFiles::stored_bytes(const std::string& name) const {
  const std::vector<Located> stored = locate(name);
  if (stored.size() != 1) return std::nullopt;
  files_->check(*stored[0].file, stored[0].bytes.offset, stored[0].bytes.bytes);
  return stored[0].bytes;
}

void ShardFiles::release(const std::string& name) const {
  for (const StoredShard& shard : known(name).shards) files_->tensors(shard.file).release(name);
}

std::vector<NamedTensor> stored_tensors(Block& block) {
  std::vector<NamedTensor> all = block.named_parameters();
  for (NamedTensor& buffer : block.named_buffers()) {
    if (buffer.persistent) all.push_back(std::move(buffer));
  }
  return all;
}

}  // namespace s2s
