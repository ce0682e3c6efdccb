#pragma once
// Error texts of weight files and checkpoints.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "s2s/error.h"
#include "s2s/nn/weights.h"

namespace s2s::weights_errors {

/// [weights/unreadable] The file or folder cannot be opened.
Error unreadable(const std::string& path, const std::string& why);
/// [weights/format] The file violates the safetensors format.
Error format(const std::string& path, const std::string& what);
/// [weights/format] Names the tensor with the problem.
Error tensor_format(const std::string& path, const std::string& tensor, const std::string& what);
/// [weights/format] The file is not a valid file of torch.save.
Error torch_format(const std::string& path, const std::string& what);
/// [weights/refused] Reading the file would execute code; `what` names it.
Error refused(const std::string& path, const std::string& what);
/// [weights/index] All problems of an index of shards.
Error index(const std::string& path, const std::vector<std::string>& findings);
/// [weights/slice] The tensor does not contain this slice.
Error slice(const std::string& path, const std::string& tensor, const std::vector<int64_t>& sizes,
            const TensorSlice& slice);
/// [weights/dtype] A dtype that LibTorch does not support.
Error dtype(const std::string& path, const std::string& tensor, const std::string& type);
/// [weights/no-tensor] The file does not contain this tensor.
Error no_tensor(const std::string& path, const std::string& tensor,
                const std::vector<std::string>& available);
/// The same. The keys of `entries` are the tensors in the file.
template <class Entry>
Error no_tensor(const std::string& path, const std::string& tensor,
                const std::map<std::string, Entry>& entries) {
  std::vector<std::string> available;
  for (const auto& entry : entries) available.push_back(entry.first);
  return no_tensor(path, tensor, available);
}
/// [weights/duplicate] Two files of one folder contain the same tensor.
Error duplicate(const std::string& tensor, const std::string& first, const std::string& second);
/// [weights/not-finite] An element of a tensor is NaN or infinite.
Error not_finite(const std::string& source, const std::string& tensor,
                 const std::vector<int64_t>& index, double value);
/// [weights/mismatch] All tensors that are missing, unexpected, or have another shape.
Error mismatch(const std::string& source, const std::vector<std::string>& lines);
/// [weights/config] A key of a foreign configuration changes the results and is not supported.
Error config(const std::string& place, const std::string& key, const std::string& value,
             const std::string& expected);
/// [weights/config] No plugin reads the model_type of the folder's config.json. `families`: those
/// that plugins read.
Error no_reader(const std::string& place, const std::string& folder, const std::string& type,
                const std::vector<std::string>& families);
/// [weights/config] The plugin of another model family reads this `model_type`.
Error family(const std::string& place, const std::string& key, const std::string& value,
             const std::string& expected);
/// [weights/json] The file or text is not JSON.
Error json(const std::string& source, const std::string& why);

}  // namespace s2s::weights_errors

namespace s2s::checkpoint_errors {

/// [checkpoint/incomplete] The folder lacks a file, or a file cannot be read.
Error incomplete(const std::string& folder, const std::string& file);
/// [checkpoint/damaged] A file has changed since it was written. `what`: how this was detected.
Error damaged(const std::string& path, const std::string& what);

}  // namespace s2s::checkpoint_errors
