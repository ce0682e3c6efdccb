#pragma once
// Reads weights from files of Hugging Face, torch and NeMo, and loads them into blocks.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "s2s/config.h"
#include "s2s/nn/block.h"
#include "s2s/nn/name_map.h"

namespace s2s {

/// dtype and sizes of a stored tensor, known before its elements are read.
struct TensorFacts {
  at::ScalarType dtype;
  std::vector<int64_t> sizes;
};

/// The elements begin .. begin + length - 1 of one dim.
struct TensorSlice {
  int64_t dim = 0;
  int64_t begin = 0;
  int64_t length = 0;
};

struct StoredBytes;

/// Named tensors in memory-mapped files. Elements are read on first access.
class WeightFiles {
 public:
  /// `path` is one of: a .safetensors file; a file of torch.save (.bin, .pt, .ckpt; also from
  /// Lightning and NeMo), whose pickle is parsed without executing code; a .nemo archive with such
  /// a file; an index.json; or a folder as Hugging Face writes it. In a folder this opens the files
  /// that its index names, else model.safetensors, else all *.safetensors, else pytorch_model.bin,
  /// model_weights.ckpt or the only .nemo archive.
  /// Errors: [weights/unreadable], [weights/format], [weights/dtype], [weights/duplicate],
  /// [weights/index], [weights/refused].
  static WeightFiles open(const std::string& path);
  WeightFiles(WeightFiles&& other) noexcept;
  WeightFiles& operator=(WeightFiles&& other) noexcept;
  ~WeightFiles();

  /// The opened path, and the dtype and sizes of each tensor.
  const std::string& path() const;
  const std::map<std::string, TensorFacts>& facts() const;
  /// A view of the mapped file. The view keeps the mapping alive. Errors: [weights/no-tensor].
  at::Tensor tensor(const std::string& name) const;
  /// A view of a slice. Errors: [weights/no-tensor], [weights/slice].
  at::Tensor view(const std::string& name, const TensorSlice& slice) const;
  /// A copy of a slice. Reads only the slice and the pages around it, and releases them afterwards;
  /// writes to views of the same tensor are lost. Errors: as `view`.
  at::Tensor read(const std::string& name, const TensorSlice& slice) const;
  /// Releases the pages of a tensor. Views read them again on the next access; writes to them are
  /// lost.
  void release(const std::string& name) const;

 private:
  friend std::optional<StoredBytes> stored_bytes(const WeightFiles& files, const std::string& name);
  struct Content;
  explicit WeightFiles(std::unique_ptr<Content> content);
  std::unique_ptr<Content> content_;
};

/// All tensors of WeightFiles::open(path), as views.
TensorMap read_weights(const std::string& path);

/// `path` relative to `base_dir`, unless it is absolute or begins with "~/".
std::string resolve_path(const std::string& path, const std::string& base_dir);

/// Parses a JSON file or text as a config tree; values remember their place in `source`.
Config read_json(const std::string& path);
Config parse_json(const std::string& text, const std::string& source);
/// Parses a YAML file, for example a run's config.yaml. Errors: [config/no-file],
/// [config/unreadable], [config/syntax].
Config read_yaml(const std::string& path);

/// Copies `tensors` (with checkpoint names) into `ours` (parameters and buffers that have memory),
/// using `names`. Values are cast to the destination's dtype. `source` names the file or folder in
/// messages. Errors: [weights/mismatch] lists every tensor that is missing, unexpected, or of
/// another shape, with the nearest name; in this case nothing is changed. [weights/not-finite]
/// names tensor and index; earlier tensors already have their new values.
void load_tensors(const std::vector<NamedTensor>& ours, const NameMap& names,
                  const TensorMap& tensors, const std::string& source);

/// The same from files. Uses the memory of only one additional tensor at a time. `slices`: for
/// names of `ours` that are a slice of the stored tensor; only the slice is read. Errors: also
/// [weights/slice].
void load_tensors(const std::vector<NamedTensor>& ours, const NameMap& names,
                  const WeightFiles& files, const std::map<std::string, TensorSlice>& slices = {});

/// The same as a source of initial values: names and shapes are matched now; each tensor is read on
/// demand. `ours` may be meta tensors. Errors: [weights/mismatch]; when a tensor is read
/// [weights/not-finite].
std::unique_ptr<WeightSource> weight_source(const std::vector<NamedTensor>& ours,
                                            const NameMap& names, WeightFiles files);

/// The three functions above, for all parameters and persistent buffers of a block.
std::unique_ptr<WeightSource> weight_source(Block& block, const NameMap& names, WeightFiles files);
void load_weights(Block& block, const NameMap& names, const TensorMap& tensors,
                  const std::string& source);
void load_weights(Block& block, const NameMap& names, const WeightFiles& files);

/// Parameters and persistent buffers with checkpoint names (views, not copies).
TensorMap export_weights(Block& block, const NameMap& names);

/// Throws [weights/config] for a key of a foreign configuration that changes the result and is not
/// implemented. `place` names the file or block.
[[noreturn]] void throw_unsupported_config(const std::string& place, const std::string& key,
                                           const std::string& value, const std::string& expected);

}  // namespace s2s
