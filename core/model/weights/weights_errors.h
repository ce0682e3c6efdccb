#pragma once
// What can be wrong with weight files and with checkpoints.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "s2s/error.h"
#include "s2s/nn/weights.h"

namespace s2s::weights_errors {

/// [weights/unreadable] the file or folder cannot be opened.
Error unreadable(const std::string& path, const std::string& why);
/// [weights/format] the file is not what the safetensors format asks for.
Error format(const std::string& path, const std::string& what);
/// [weights/format] with the tensor that breaks the rule.
Error tensor_format(const std::string& path, const std::string& tensor, const std::string& what);
/// [weights/format] the file is not what torch.save writes.
Error torch_format(const std::string& path, const std::string& what);
/// [weights/refused] reading the file would execute something; `what` names it.
Error refused(const std::string& path, const std::string& what);
/// [weights/index] everything that is wrong with an index of shards.
Error index(const std::string& path, const std::vector<std::string>& findings);
/// [weights/slice] a part that the tensor does not have.
Error slice(const std::string& path, const std::string& tensor, const std::vector<int64_t>& sizes,
            const TensorSlice& slice);
/// [weights/dtype] an element type that LibTorch cannot hold.
Error dtype(const std::string& path, const std::string& tensor, const std::string& type);
/// [weights/no-tensor] a tensor that the file does not have.
Error no_tensor(const std::string& path, const std::string& tensor,
                const std::vector<std::string>& available);
/// The same; the keys of `entries` are the tensors that the file has.
template <class Entry>
Error no_tensor(const std::string& path, const std::string& tensor,
                const std::map<std::string, Entry>& entries) {
  std::vector<std::string> available;
  for (const auto& entry : entries) available.push_back(entry.first);
  return no_tensor(path, tensor, available);
}
/// [weights/duplicate] two files of one folder hold the same tensor.
Error duplicate(const std::string& tensor, const std::string& first, const std::string& second);
/// [weights/not-finite] NaN or infinity at one place of one tensor.
Error not_finite(const std::string& source, const std::string& tensor,
                 const std::vector<int64_t>& index, double value);
/// [weights/mismatch] all tensors that are missing, not expected, or of another shape.
Error mismatch(const std::string& source, const std::vector<std::string>& lines);
/// [weights/config] a key of a foreign configuration that changes the numbers and is not known.
Error config(const std::string& place, const std::string& key, const std::string& value,
             const std::string& expected);
/// [weights/config] a `model_type` that another family's plugin reads.
Error family(const std::string& place, const std::string& key, const std::string& value,
             const std::string& expected);
/// [weights/json] a file or text that is not JSON.
Error json(const std::string& source, const std::string& why);

}  // namespace s2s::weights_errors

namespace s2s::checkpoint_errors {

/// [checkpoint/incomplete] a folder without all its files, or with one that cannot be read.
Error incomplete(const std::string& folder, const std::string& file);
/// [checkpoint/damaged] a file that is not as it was written; `what`: how one sees it.
Error damaged(const std::string& path, const std::string& what);

}  // namespace s2s::checkpoint_errors
