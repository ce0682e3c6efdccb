#pragma once
// Reads and verifies the files of a checkpoint folder.

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "s2s/nn/block.h"
#include "s2s/parallel/local_shard.h"
#include "weights/checkpoint_index.h"
#include "weights/safetensors.h"
#include "weights/weight_mapping.h"

namespace s2s {

/// Returns true for a checkpoint with an index, or when its state.json requires one.
bool is_indexed(const std::string& folder);

/// The files that an index lists. In an older checkpoint without an index, the files have no
/// checksums. Not thread-safe.
class CheckedFiles {
 public:
  /// Errors: [checkpoint/incomplete] when state.json requires an index and there is none,
  /// [checkpoint/damaged].
  static std::shared_ptr<CheckedFiles> open(const std::string& folder);

  const std::string& folder() const { return folder_; }
  /// Null for a checkpoint without an index.
  const CheckpointIndex* index() const { return index_ ? &*index_ : nullptr; }
  std::string path(const std::string& file) const;
  /// Errors: [checkpoint/incomplete] when the file is missing, [checkpoint/damaged] when its length
  /// differs from the index or it is a link out of the folder (other than into the cache of Hugging
  /// Face that has the folder).
  void require(const std::string& file) const;
  /// Opens a file of tensors. Errors: those of `require` and SafetensorsFile::open.
  const SafetensorsFile& tensors(const std::string& file);
  /// Verifies the blocks that contain these bytes, each block once. Errors: [checkpoint/damaged].
  void check(const std::string& file, uint64_t offset, uint64_t bytes);
  /// Verifies a whole file of any kind.
  void check_whole(const std::string& file) const;

 private:
  explicit CheckedFiles(std::string folder) : folder_(std::move(folder)) {}
  const FileChecksums* sums(const std::string& file) const;

  struct Open {
    SafetensorsFile tensors;
    std::vector<bool> is_checked;  // per block
  };
  std::string folder_;
  std::optional<CheckpointIndex> index_;
  std::map<std::string, Open> open_;
};

// The tensors of a checkpoint, sharded or not. Any elements of any tensor can be read, whatever
// layout wrote them.

/// Files are memory-mapped. Only requested elements are read, after their blocks (4 MiB each) have
/// been verified once. Not thread-safe.
class ShardFiles {
 public:
  /// group: "model" or "optimizer". Checks that every file of the group exists and has its length,
  /// and that every tensor is complete. Errors: [checkpoint/incomplete], [checkpoint/damaged].
  /// Without an index: those of SafetensorsFile::open.
  static ShardFiles open(std::shared_ptr<CheckedFiles> files, const std::string& group);
  static ShardFiles open(const std::string& folder, const std::string& group) {
    return open(CheckedFiles::open(folder), group);
  }

  /// Returns the file of the group, or the folder when there are several files.
  const std::string& path() const { return path_; }
  /// Dtypes and full sizes. The offsets are not meaningful.
  const std::map<std::string, SafetensorsEntry>& entries() const { return entries_; }
  bool contains(const std::string& name) const { return entries_.count(name) != 0; }
  const IndexGroup& shards() const { return shards_; }
  /// Returns a full tensor: a view that keeps its file alive, or a copy assembled from shards.
  /// Errors: [weights/no-tensor], [checkpoint/damaged].
  at::Tensor tensor(const std::string& name) const;
  /// Returns some elements as a flat tensor [n]: a view when they are contiguous in a file.
  /// spans: must be within the tensor. Errors: as `tensor`.
  at::Tensor elements(const std::string& name, const std::vector<TensorSpan>& spans) const;
  /// Returns the position of a tensor that is contiguous in one file. Errors: as `tensor`.
  std::optional<StoredBytes> stored_bytes(const std::string& name) const;
  /// Frees the memory pages of a tensor's views.
  void release(const std::string& name) const;

 private:
  struct Located;
  const TensorEntry& known(const std::string& name) const;
  std::vector<Located> locate(const std::string& name) const;

  std::shared_ptr<CheckedFiles> files_;
  std::string path_;
  IndexGroup shards_;
  std::map<std::string, SafetensorsEntry> entries_;
};

/// Returns the tensors of a block that checkpoints contain: parameters and persistent buffers. A
/// buffer may not be allocated yet.
std::vector<NamedTensor> stored_tensors(Block& block);

}  // namespace s2s
