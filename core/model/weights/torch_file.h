#pragma once
// Reads files of torch.save (.bin, .pt, .ckpt): a zip archive with one pickle that describes the
// tensors and one stored file per storage. The pickle is read without executing anything.
// Source: torch/serialization.py (_save), caffe2/serialize/inline_container.cc.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "s2s/nn/block.h"
#include "weights/archives.h"
#include "weights/pickle.h"

namespace s2s {

class WeightMapping;
struct StoredBytes;

/// The state dict of a file, or of model_weights.ckpt inside a .nemo archive (tar). It is the top
/// level, or if that contains no tensors, its "state_dict" (Lightning), "model_state_dict" or
/// "model". Tensors are views of the mapped file and keep it alive. Those of one storage share
/// memory.
class TorchFile {
 public:
  /// Checks the archive, the pickle, and the position and size of every tensor. Their readers share
  /// `budget`. Errors: [weights/unreadable], [weights/format], [weights/refused], [io/too-much].
  static TorchFile open(const std::string& path, ReadingBudget& budget);
  static TorchFile open(const std::string& path) {
    ReadingBudget budget(path);
    return open(path, budget);
  }
  /// Opens a part of a file in which torch.save wrote one tensor, whose name here is "". `path` is
  /// for messages. Errors: as `open`.
  static TorchFile open_tensor(const std::string& path, const ArchiveMember& part,
                               ReadingBudget& budget);

  const std::map<std::string, PickledTensor>& entries() const { return entries_; }
  /// Errors: [weights/no-tensor] with the nearest name.
  at::Tensor tensor(const std::string& name) const;
  /// Returns the position of the tensor's elements, or nothing when they are not contiguous.
  std::optional<StoredBytes> stored_bytes(const std::string& name) const;
  /// Frees the memory pages of a tensor's storage; see SafetensorsFile::release.
  void release(const std::string& name) const;

 private:
  TorchFile() = default;
  /// Reads the directory of the zip archive, and returns its pickle.
  Pickle open_archive(const std::string& path, const ArchiveMember& zip, ReadingBudget& budget);
  void read_entries(const Pickle& pickle, ReadingBudget& budget);
  /// Charges a view to its storage. Errors: [weights/format].
  void count_view(const std::string& name, const PickledTensor& tensor, const ZipEntry& storage);
  void add(const std::string& name, const PickledTensor& tensor);
  /// The stored file of a tensor's storage, after checking that it contains the whole tensor.
  const ZipEntry& storage_of(const std::string& name, const PickledTensor& tensor) const;

  std::string path_;
  std::string folder_;  // in the archive, including the slash
  std::map<std::string, ZipEntry> files_;
  std::map<std::string, PickledTensor> entries_;
  std::map<std::string, uint64_t> view_bytes_;  // by storage: of all its views together
  std::shared_ptr<WeightMapping> mapping_;
  uint64_t begin_ = 0;  // start of the zip archive in the mapping
};

}  // namespace s2s
