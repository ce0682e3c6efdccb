#pragma once
// The safetensors container: 8 bytes little-endian header length, a JSON header, then the data.
// Source: the format's description in github.com/huggingface/safetensors (README, "Format").

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "s2s/nn/block.h"
#include "weights/block_checksums.h"

namespace s2s {

class WeightMapping;
struct StoredBytes;

/// The header entry of a tensor. Offsets are bytes from the begin of the data.
struct SafetensorsEntry {
  at::ScalarType dtype = at::kFloat;
  std::vector<int64_t> sizes;
  uint64_t begin = 0;
  uint64_t end = 0;
};

/// A memory-mapped file. Tensors are views of the mapping and keep it alive. Writing to a tensor
/// changes memory only, never the file.
class SafetensorsFile {
 public:
  /// Checks every rule of the format before it returns.
  /// Errors: [weights/unreadable], [weights/format], [weights/dtype].
  static SafetensorsFile open(const std::string& path);

  const std::string& path() const { return path_; }
  /// The "__metadata__" of the header. Empty when there is none.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::map<std::string, SafetensorsEntry>& entries() const { return entries_; }
  bool contains(const std::string& name) const { return entries_.count(name) != 0; }
  /// Errors: [weights/no-tensor] with the nearest name.
  at::Tensor tensor(const std::string& name) const;
  /// Returns all tensors, or those whose name begins with `prefix`, which is removed.
  TensorMap tensors(const std::string& prefix = "") const;
  const WeightMapping& mapping() const { return *mapping_; }
  /// Returns the position of the tensor's elements in the file.
  std::optional<StoredBytes> stored_bytes(const std::string& name) const;
  /// Frees the memory pages of a tensor's views. The next access reads them again. Values that were
  /// written to them are lost.
  void release(const std::string& name) const;

 private:
  SafetensorsFile() = default;

  std::string path_;
  std::map<std::string, std::string> metadata_;
  std::map<std::string, SafetensorsEntry> entries_;
  std::shared_ptr<WeightMapping> mapping_;
  uint64_t data_begin_ = 0;
};

/// Writes `tensors` to a temporary file, syncs and renames it, so that `path` is always a complete
/// file. The same input gives the same bytes. `float_type`: dtype to which floating-point tensors
/// are converted, one at a time. Returns the checksums of the file. Errors: [io/write],
/// [weights/dtype].
FileChecksums write_safetensors(const std::string& path, const TensorMap& tensors,
                                const std::map<std::string, std::string>& metadata = {},
                                std::optional<at::ScalarType> float_type = {});

/// Returns the dtype in which `tensor` is written.
at::ScalarType written_type(const at::Tensor& tensor, std::optional<at::ScalarType> float_type);
/// Returns its bytes in the file.
uint64_t written_bytes(const at::Tensor& tensor, std::optional<at::ScalarType> float_type);

}  // namespace s2s
