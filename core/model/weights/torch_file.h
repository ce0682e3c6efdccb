#pragma once
// Files of torch.save (.bin, .pt, .ckpt): a zip archive with one pickle that describes the tensors
// and one stored file per storage. The pickle is read without executing anything.
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

/// The state dict of a file, or of model_weights.ckpt inside of a .nemo archive (tar): its top
/// level, or, where that holds no tensors, its "state_dict" (Lightning), "model_state_dict" or
/// "model". Tensors are views of the mapped file and keep it alive; those that share a storage
/// share memory.
class TorchFile {
 public:
  /// Checks the archive, the pickle and every tensor's place.
  /// Errors: [weights/unreadable], [weights/format], [weights/refused].
  static TorchFile open(const std::string& path);

  const std::map<std::string, PickledTensor>& entries() const { return entries_; }
  /// Errors: [weights/no-tensor] with the nearest name.
  at::Tensor tensor(const std::string& name) const;
  /// Where its elements lie; nothing when they do not follow each other.
  std::optional<StoredBytes> stored_bytes(const std::string& name) const;
  /// Gives the memory behind a tensor's storage back; see SafetensorsFile::release.
  void release(const std::string& name) const;

 private:
  TorchFile() = default;
  void read_entries(const Pickle& pickle);
  /// The stored file of a tensor's storage, checked to hold all of the tensor.
  const ZipEntry& storage_of(const std::string& name, const PickledTensor& tensor) const;

  std::string path_;
  std::string folder_;  // in the archive, with its slash
  std::map<std::string, ZipEntry> files_;
  std::map<std::string, PickledTensor> entries_;
  std::shared_ptr<WeightMapping> mapping_;
  uint64_t begin_ = 0;  // of the zip archive in the mapping
};

}  // namespace s2s
