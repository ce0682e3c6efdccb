#include "jinja/substring.h"

#include <string.h>

#include <algorithm>
#include <vector>

#include "jinja/runtime.h"

namespace s2s::jinja {
namespace {

constexpr size_t kShortPart = 8;
constexpr size_t kLongPart = size_t{64} << 10;
constexpr size_t kPieceBytes = size_t{1} << 20;  // between two checks of the clock

using Borders = std::vector<uint32_t, Metered<uint32_t>>;

/// For each beginning of `part`, the length of the longest beginning with which it ends.
Borders borders_of(std::string_view part) {
  Walk walk;
  Borders borders(part.size());
  for (size_t i = 1, held = 0; i < part.size(); ++i) {
    walk.step();
    while (held > 0 && part[i] != part[held]) held = borders[held - 1];
    if (part[i] == part[held]) ++held;
    borders[i] = static_cast<uint32_t>(held);
  }
  return borders;
}

/// The algorithm of Knuth, Morris and Pratt. memmem cannot be interrupted while it prepares a long
/// part.
size_t find_long_part(std::string_view text, std::string_view part, size_t from) {
  const Borders borders = borders_of(part);
  Walk walk;
  for (size_t i = from, held = 0; i < text.size(); ++i) {
    walk.step();
    while (held > 0 && text[i] != part[held]) held = borders[held - 1];
    if (text[i] == part[held]) ++held;
    if (held == part.size()) return i + 1 - held;
  }
  return std::string_view::npos;
}

}  // namespace

size_t find_part(std::string_view text, std::string_view part, size_t from) {
  if (from > text.size() || part.size() > text.size() - from) return std::string_view::npos;
  charge(2 + part.size() / 16);
  if (part.empty()) return from;
  if (part.size() > kLongPart) return find_long_part(text, part, from);
  for (size_t begin = from; begin + part.size() <= text.size(); begin += kPieceBytes) {
    const size_t size = std::min(kPieceBytes + part.size() - 1, text.size() - begin);
    const void* found = memmem(text.data() + begin, size, part.data(), part.size());
    if (found == nullptr) {
      charge(size / 16);
      continue;
    }
    const auto place = static_cast<size_t>(static_cast<const char*>(found) - text.data());
    charge((place - begin) / 16);
    return place;
  }
  return std::string_view::npos;
}

RightSearch::RightSearch(std::string_view text, std::string_view part) : text_(text), part_(part) {
  if (part.size() <= kShortPart || part.size() > text.size()) return;
  held_.add(text.size() + part.size());
  reversed_text_.assign(text.rbegin(), text.rend());
  reversed_part_.assign(part.rbegin(), part.rend());
}

size_t RightSearch::find_before(size_t end) const {
  if (part_.size() > end) return std::string_view::npos;
  if (reversed_part_.empty()) {
    for (;;) {
      const size_t begin = end > kPieceBytes ? end - kPieceBytes : 0;
      const size_t found = text_.substr(begin, end - begin).rfind(part_);
      charge(2 + (end - (found == std::string_view::npos ? begin : begin + found)) / 4);
      if (found != std::string_view::npos) return begin + found;
      if (begin == 0) return std::string_view::npos;
      end = begin + std::max<size_t>(part_.size(), 1) - 1;
    }
  }
  const size_t found = find_part(reversed_text_, reversed_part_, text_.size() - end);
  return found == std::string_view::npos ? found : text_.size() - found - part_.size();
}

}  // namespace s2s::jinja
