#include "plan/element_bytes.h"

#include <algorithm>

namespace s2s {
namespace {

int64_t bytes_of(const std::optional<at::ScalarType>& type, int64_t otherwise) {
  return type ? static_cast<int64_t>(c10::elementSize(*type)) : otherwise;
}

}  // namespace

ElementBytes element_bytes(int64_t stored, int64_t product, const EngineSettings& settings) {
  ElementBytes bytes;
  bytes.stored = stored;
  bytes.gathered = bytes_of(settings.param_dtype, stored);
  bytes.reduced = bytes_of(settings.reduce_dtype, bytes.gathered);
  bytes.product = std::min(product, bytes.gathered);
  bytes.stream = bytes_of(settings.output_dtype, bytes.gathered);
  return bytes;
}

}  // namespace s2s
