#pragma once
// Finds the files with the weights of a folder.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace s2s {

/// A Hugging Face index: the file of each tensor.
struct WeightIndex {
  std::string path;
  std::map<std::string, std::string> home;  // tensor -> path of a file next to the index
  std::optional<uint64_t> total_bytes;      // metadata.total_size, if present

  /// Returns the files, with the number of tensors that the index expects in each.
  std::map<std::string, int64_t> files() const;
};

/// An index, or a list of complete files.
struct WeightFolder {
  std::optional<WeightIndex> index;
  std::vector<std::string> files;
};

/// `path`: a file, an index, or a folder. In a folder, uses the first of: index.json of an s2s
/// checkpoint, .metadata of torch.distributed.checkpoint, model.safetensors.index.json,
/// model.safetensors, all other *.safetensors except an adapter's, pytorch_model.bin.index.json,
/// pytorch_model.bin, model_weights.ckpt (an unpacked .nemo archive), a single *.nemo. Errors:
/// [weights/unreadable], [weights/index], [weights/json].
WeightFolder find_weights(const std::string& path);

/// Returns true for a file that is not in the safetensors format but may be a file of torch.save:
/// by its name (.bin, .pt, .pth, .ckpt, .nemo), otherwise by its first bytes.
bool is_torch_file(const std::string& path);

}  // namespace s2s
