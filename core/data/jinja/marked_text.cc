#include "jinja/marked_text.h"

#include <algorithm>
#include <utility>

#include "s2s/error.h"

namespace s2s::jinja {

MarkedText MarkedText::from(std::string bytes, int64_t tag) {
  const size_t size = bytes.size();
  return MarkedText(std::move(bytes), {Mark{0, size, tag}});
}

void MarkedText::append(const MarkedText& other) {
  charge_bytes(other.weight());
  held_.cover(weight() + other.weight());
  const size_t shift = bytes_.size();
  bytes_ += other.bytes_;
  for (const Mark& mark : other.marks_) {
    marks_.push_back({mark.begin + shift, mark.end + shift, mark.tag});
  }
}

MarkedText MarkedText::slice(size_t begin, size_t end) const {
  charge(1 + marks_.size() / 8);
  MarkedText part(std::string_view(bytes_).substr(begin, end - begin));
  for (const Mark& mark : marks_) {
    const size_t first = std::max(mark.begin, begin), last = std::min(mark.end, end);
    if (first >= last) continue;
    part.held_.cover(part.weight() + sizeof(Mark));
    part.marks_.push_back({first - begin, last - begin, mark.tag});
  }
  return part;
}

void MarkedText::mark_from(size_t begin, int64_t tag) {
  const Mark mark{begin, bytes_.size(), tag};
  charge_bytes(marks_.size() * sizeof(Mark));
  held_.cover(weight() + sizeof(Mark));
  const auto before = [](const Mark& a, const Mark& b) { return a.begin < b.begin; };
  marks_.insert(std::lower_bound(marks_.begin(), marks_.end(), mark, before), mark);
}

MarkedText MarkedText::with_bytes(std::string bytes) const {
  S2S_ASSERT(bytes.size() == bytes_.size(), "marks keep their places");
  return MarkedText(std::move(bytes), marks_);
}

}  // namespace s2s::jinja
