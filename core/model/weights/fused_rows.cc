#include "weights/fused_rows.h"

#include <ATen/ATen.h>

#include "s2s/error.h"

namespace s2s {

std::vector<std::string> fused_parts(const NameMap& names, const std::string& theirs) {
  std::vector<std::string> parts;
  for (const NameRule& rule : names.other_spellings) {
    const NameMap one{{rule}, {}};
    if (const auto ours = one.to_ours(theirs)) parts.push_back(*ours);
  }
  return parts.size() > 1 ? parts : std::vector<std::string>();
}

std::optional<TensorSlice> fused_slice(const NameMap& names, const std::string& theirs,
                                       const std::string& ours,
                                       const std::map<std::string, int64_t>& rows) {
  TensorSlice slice;
  for (const std::string& part : fused_parts(names, theirs)) {
    const auto length = rows.find(part);
    if (length == rows.end()) return std::nullopt;
    slice.length = length->second;
    if (part == ours) return slice;
    slice.begin += slice.length;
  }
  return std::nullopt;
}

TensorMap with_fused_rows(const TensorMap& tensors, const NameMap& names) {
  TensorMap exported;
  for (const auto& [name, tensor] : tensors) {
    const auto spelled = [&](const std::string& theirs) {
      const std::vector<std::string> parts = fused_parts(names, theirs);
      return !parts.empty() && tensors.count(parts.front()) != 0;
    };
    const auto theirs = names.to_theirs(name, spelled);
    S2S_ASSERT(theirs.has_value(), "a name map names every parameter and persistent buffer");
    const std::vector<std::string> parts = fused_parts(names, *theirs);
    if (parts.empty()) {
      exported[*theirs] = tensor;
    } else if (name == parts.front()) {
      std::vector<at::Tensor> rows;
      for (const std::string& part : parts) rows.push_back(tensors.at(part));
      exported[*theirs] = at::cat(rows, 0);
    }
  }
  return exported;
}

}  // namespace s2s
