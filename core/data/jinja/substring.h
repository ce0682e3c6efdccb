#pragma once
// Searches for parts of texts. Their time is linear in both lengths, and charged.

#include <string>
#include <string_view>

#include "jinja/meter.h"

namespace s2s::jinja {

/// Returns where `part` begins in `text`, at or after `from`; npos if it is not there.
size_t find_part(std::string_view text, std::string_view part, size_t from = 0);

/// Searches for a part from the right. Text and part must outlive it.
class RightSearch {
 public:
  RightSearch(std::string_view text, std::string_view part);
  /// Returns where the last part begins that ends at or before `end`; npos if there is none.
  size_t find_before(size_t end) const;

 private:
  std::string_view text_, part_;
  Held held_;
  std::string reversed_text_, reversed_part_;  // empty for short parts
};

}  // namespace s2s::jinja
