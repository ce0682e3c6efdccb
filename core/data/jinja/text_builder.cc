#include "jinja/text_builder.h"

#include "jinja/runtime.h"

namespace s2s::jinja {

void TextBuilder::grow(size_t num_bytes) {
  check_length(bytes_.size() + num_bytes);
  constexpr size_t kLeast = 64;
  constexpr size_t kMost = size_t{64} << 10;
  const size_t more = std::max(num_bytes - room_, std::clamp(bytes_.size() / 2, kLeast, kMost));
  charge(more / 4);
  held_.add(more);
  room_ += more;
}

}  // namespace s2s::jinja
