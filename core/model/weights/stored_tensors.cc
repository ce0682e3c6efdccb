#include "weights/stored_tensors.h"

namespace s2s {

std::vector<NamedTensor> stored_tensors(Block& block) {
  std::vector<NamedTensor> all = block.named_parameters();
  for (NamedTensor& buffer : block.named_buffers()) {
    if (buffer.persistent) all.push_back(std::move(buffer));
  }
  return all;
}

}  // namespace s2s
