#pragma once
// Tensors of other software that hold the rows of several parameters, one below the other (the
// qkv_proj of Phi-3). In a NameMap they are alternative spellings: rules of `other_spellings` with
// the same `theirs` name the parts, from the first row on.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "s2s/nn/block.h"
#include "s2s/nn/name_map.h"
#include "s2s/nn/weights.h"

namespace s2s {

/// Our names of the parts of `theirs`, in the order of its rows. Empty when the tensor is one
/// parameter.
std::vector<std::string> fused_parts(const NameMap& names, const std::string& theirs);

/// The part of `theirs` that holds the rows of `ours`. `rows`: rows of each of our tensors. Nothing
/// if it is one parameter. The caller reports a part beyond the end.
std::optional<TensorSlice> fused_slice(const NameMap& names, const std::string& theirs,
                                       const std::string& ours,
                                       const std::map<std::string, int64_t>& rows);

/// Joins parts under the name of their tensor: `tensors` have our names, the result has
/// checkpoint names.
TensorMap with_fused_rows(const TensorMap& tensors, const NameMap& names);

}  // namespace s2s
