#pragma once
// How large the models of this process are. The numbers of layers, experts and elements come from a
// configuration, which may be a stranger's. So the size of a meta model is checked before it gets
// memory. The largest models of today have a ten-thousandth of the elements and a tenth of the
// parts.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace s2s {

/// Counts a parameter that a block registers. Errors: [model/size] when it has more than 2^42
/// elements, or all models together more than 2^50, or a million parts.
void join_model_size(const std::string& name, const std::vector<int64_t>& sizes);
/// Counts a block or a buffer. Errors: [model/size] when there are more than a million.
void join_model_part(const std::string& name);
/// What a block that is destroyed had registered. `sizes` of a parameter or, empty, of a buffer.
void leave_model_size(const std::vector<int64_t>& sizes);
void leave_model_parts(size_t count);

}  // namespace s2s
