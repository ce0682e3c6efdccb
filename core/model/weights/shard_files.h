#pragma once
// The tensors of a checkpoint, whether each lies whole in one file or ranks wrote shards of it: any
// elements of any of them, from any layout to any other.

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "s2s/parallel/local_shard.h"
#include "weights/checked_files.h"
#include "weights/weight_mapping.h"

namespace s2s {

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

}  // namespace s2s
