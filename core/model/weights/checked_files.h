#pragma once
// The files of a checkpoint's folder, checked as they are read.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weights/checkpoint_index.h"
#include "weights/safetensors.h"

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

}  // namespace s2s
