#pragma once
// The files of a checkpoint's folder, checked as they are read.

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

/// True for a checkpoint that has an index, or should have one by what its state.json says.
bool is_indexed(const std::string& folder);

/// Files that an index lists; or, in a checkpoint from before there was one, files without
/// checksums. Not for several threads.
class CheckedFiles {
 public:
  /// Errors: [checkpoint/incomplete] when there is no index though state.json promises one,
  /// [checkpoint/damaged].
  static std::shared_ptr<CheckedFiles> open(const std::string& folder);

  const std::string& folder() const { return folder_; }
  /// Null: a checkpoint without one.
  const CheckpointIndex* index() const { return index_ ? &*index_ : nullptr; }
  std::string path(const std::string& file) const;
  /// Errors: [checkpoint/incomplete] when it is not there, [checkpoint/damaged] when it has another
  /// length.
  void require(const std::string& file) const;
  /// A file of tensors. Errors: those of `require` and SafetensorsFile::open.
  const SafetensorsFile& tensors(const std::string& file);
  /// Reads the blocks that these bytes touch, once each. Errors: [checkpoint/damaged].
  void check(const std::string& file, uint64_t offset, uint64_t bytes);
  /// The same for all of a file of any kind.
  void check_whole(const std::string& file) const;

 private:
  explicit CheckedFiles(std::string folder) : folder_(std::move(folder)) {}
  const FileChecksums* sums(const std::string& file) const;

  struct Open {
    SafetensorsFile tensors;
    std::vector<bool> is_checked;  // by block
  };
  std::string folder_;
  std::optional<CheckpointIndex> index_;
  std::map<std::string, Open> open_;
};

// The tensors of a checkpoint, whether each lies whole in one file or ranks wrote shards of it: any
// elements of any of them, from any layout to any other.

/// Files are mapped; what is asked for is read, and the blocks around it are checked before (4 MiB
/// each, once). Not for several threads.
class ShardFiles {
 public:
  /// group: "model" or "optimizer". Every file of it is there and has its length, and every tensor
  /// is complete. Errors: [checkpoint/incomplete], [checkpoint/damaged], and for a checkpoint
  /// without an index those of SafetensorsFile::open.
  static ShardFiles open(std::shared_ptr<CheckedFiles> files, const std::string& group);
  static ShardFiles open(const std::string& folder, const std::string& group) {
    return open(CheckedFiles::open(folder), group);
  }

  /// The group's file, or the folder where it has several.
  const std::string& path() const { return path_; }
  /// Types and whole sizes; the offsets mean nothing.
  const std::map<std::string, SafetensorsEntry>& entries() const { return entries_; }
  bool contains(const std::string& name) const { return entries_.count(name) != 0; }
  const IndexGroup& shards() const { return shards_; }
  /// A whole tensor: a view of its file, which it keeps alive, or else put together.
  /// Errors: [weights/no-tensor], [checkpoint/damaged].
  at::Tensor tensor(const std::string& name) const;
  /// Some elements of it, one after the other, [n]: a view where they follow each other in a file.
  /// spans: within the tensor. Errors: as `tensor`.
  at::Tensor elements(const std::string& name, const std::vector<TensorSpan>& spans) const;
  /// Where a tensor lies that is whole in one file. Errors: as `tensor`.
  std::optional<StoredBytes> stored_bytes(const std::string& name) const;
  /// Gives the memory behind its views back.
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

/// What checkpoints hold of a block: parameters, and buffers that are stored. A buffer may have no
/// memory yet.
std::vector<NamedTensor> stored_tensors(Block& block);

}  // namespace s2s
