#pragma once
// Which files hold the weights of a folder.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace s2s {

/// A Hugging Face index: which file each tensor is in.
struct WeightIndex {
  std::string path;
  std::map<std::string, std::string> home;  // tensor -> path of a file beside the index
  std::optional<uint64_t> total_bytes;      // metadata.total_size, where it says one

  /// The files, and how many tensors the index expects in each.
  std::map<std::string, int64_t> files() const;
};

/// An index, or files that are read whole.
struct WeightFolder {
  std::optional<WeightIndex> index;
  std::vector<std::string> files;
};

/// `path`: a file, an index, or a folder: in this order index.json of a checkpoint of ours,
/// model.safetensors.index.json,
/// model.safetensors, every other *.safetensors but an adapter's, pytorch_model.bin.index.json,
/// pytorch_model.bin, model_weights.ckpt (an unpacked .nemo archive), the only *.nemo.
/// Errors: [weights/unreadable], [weights/index], [weights/json].
WeightFolder find_weights(const std::string& path);

/// True for a file that is not in the safetensors format but may be one of torch.save: by the name
/// (.bin, .pt, .pth, .ckpt, .nemo), or else by its first bytes.
bool is_torch_file(const std::string& path);

}  // namespace s2s
