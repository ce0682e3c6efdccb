#pragma once
// Parts of texts: searches whose time is linear in both lengths, and charged.

#include <string>
#include <string_view>

#include "jinja/meter.h"

namespace s2s::jinja {

/// Where `part` begins in `text`, at `from` or behind it; npos: nowhere.
size_t find_part(std::string_view text, std::string_view part, size_t from = 0);

/// Looks for a part from the right. Text and part must outlive it.
class RightSearch {
 public:
  RightSearch(std::string_view text, std::string_view part);
  /// Where the last one begins that ends at `end` or before it; npos: nowhere.
  size_t find_before(size_t end) const;

 private:
  std::string_view text_, part_;
  Held held_;
  std::string reversed_text_, reversed_part_;  // empty for short parts
};

}  // namespace s2s::jinja
