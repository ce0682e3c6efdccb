#pragma once
// Weights from files: reading what Hugging Face, torch and NeMo write, and loading it into blocks.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "s2s/config.h"
#include "s2s/nn/block.h"
#include "s2s/nn/name_map.h"

namespace s2s {

/// What is known of a stored tensor before it is read.
struct TensorFacts {
  at::ScalarType dtype;
  std::vector<int64_t> sizes;
};

/// Elements begin .. begin + length - 1 of one dim.
struct TensorSlice {
  int64_t dim = 0;
  int64_t begin = 0;
  int64_t length = 0;
};

struct StoredBytes;

/// Named tensors in files; a tensor is read when its elements are touched.
class WeightFiles {
 public:
  /// `path`: a .safetensors file; a file of torch.save (.bin, .pt, .ckpt; also what Lightning and
  /// NeMo save), whose pickle is read without executing anything; a .nemo archive with such a file;
  /// an index.json; or a folder, as Hugging Face writes it: the files that its index names, else
  /// model.safetensors, else all its *.safetensors, else pytorch_model.bin, model_weights.ckpt or
  /// its only .nemo archive.
  /// Errors: [weights/unreadable], [weights/format], [weights/dtype], [weights/duplicate],
  /// [weights/index], [weights/refused].
  static WeightFiles open(const std::string& path);
  WeightFiles(WeightFiles&& other) noexcept;
  WeightFiles& operator=(WeightFiles&& other) noexcept;
  ~WeightFiles();

  /// What was opened, and the dtype and sizes of each tensor in it.
  const std::string& path() const;
  const std::map<std::string, TensorFacts>& facts() const;
  /// A view of the mapped file, which it keeps alive. Errors: [weights/no-tensor].
  at::Tensor tensor(const std::string& name) const;
  /// The same of a part. Errors: [weights/no-tensor], [weights/slice].
  at::Tensor view(const std::string& name, const TensorSlice& slice) const;
  /// A copy of a part; only what is near it in the file is read, and none of it stays in memory.
  /// Views of the same tensor lose what was written to them. Errors: as `view`.
  at::Tensor read(const std::string& name, const TensorSlice& slice) const;
  /// Gives the memory behind a tensor's views back. They are read again when they are touched
  /// again, without what was written to them.
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

/// A JSON file or text as a config tree; values remember their place in `source`.
/// Errors: [weights/unreadable], [weights/json].
Config read_json(const std::string& path);
Config parse_json(const std::string& text, const std::string& source);

/// Copies `tensors` (under their checkpoint's names) into `ours` (parameters and buffers that have
/// memory), through `names`. Values are cast to the destination's type. `source` names the file or
/// folder in messages. Errors: [weights/mismatch] lists every tensor that is missing, not expected,
/// or of another shape, with the nearest name; nothing is changed then. [weights/not-finite] names
/// tensor and index; tensors before it have their new values.
void load_tensors(const std::vector<NamedTensor>& ours, const NameMap& names,
                  const TensorMap& tensors, const std::string& source);

/// The same from files, one tensor after the other: beside the model's own memory, that of one
/// tensor is used. `slices`: for the names of `ours` that hold a part of the stored tensor, which
/// part; no more is read. Errors: also [weights/slice].
void load_tensors(const std::vector<NamedTensor>& ours, const NameMap& names,
                  const WeightFiles& files, const std::map<std::string, TensorSlice>& slices = {});

/// The same as initial values: names and shapes are matched now, and each tensor is read when it is
/// asked for. `ours` may have no memory (meta tensors). Errors: [weights/mismatch]; when a tensor
/// is read [weights/not-finite].
std::unique_ptr<WeightSource> weight_source(const std::vector<NamedTensor>& ours,
                                            const NameMap& names, WeightFiles files);

/// All three for all parameters and persistent buffers of a block.
std::unique_ptr<WeightSource> weight_source(Block& block, const NameMap& names, WeightFiles files);
void load_weights(Block& block, const NameMap& names, const TensorMap& tensors,
                  const std::string& source);
void load_weights(Block& block, const NameMap& names, const WeightFiles& files);

/// Parameters and persistent buffers under their checkpoint's names (views, not copies).
TensorMap export_weights(Block& block, const NameMap& names);

/// Throws [weights/config]: a key of a foreign configuration that changes the numbers and is not
/// implemented here. `place` names the file or block.
[[noreturn]] void throw_unsupported_config(const std::string& place, const std::string& key,
                                           const std::string& value, const std::string& expected);

}  // namespace s2s
