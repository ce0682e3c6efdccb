#include "s2s_run/tokenizer/label_marks.h"

namespace s2s::run {
namespace {

/// The text of the tokens in [begin, end) after the tokens before it.
std::string part_text(const std::vector<int64_t>& ids, size_t begin, size_t end,
                      const Tokenizer& tokenizer) {
  // Some tokenizers drop the space in front of the first word: decode with a token before it.
  const auto at = [&](size_t i) { return ids.begin() + static_cast<std::ptrdiff_t>(i); };
  const size_t from = begin == 0 ? 0 : begin - 1;
  const std::string before = tokenizer.decode({at(from), at(begin)});
  const std::string all = tokenizer.decode({at(from), at(end)});
  return all.starts_with(before) ? all.substr(before.size())
                                 : tokenizer.decode({at(begin), at(end)});
}

}  // namespace

std::string with_label_marks(const std::vector<int64_t>& ids, const std::vector<bool>& is_label,
                             const Tokenizer& tokenizer) {
  std::string text;
  const auto is_hidden = [&](size_t i) { return tokenizer.decode({ids[i]}).empty(); };
  for (size_t begin = 0, end = 0; begin < ids.size(); begin = end) {
    const bool starts = is_label[begin] && (begin == 0 || !is_label[begin - 1]);
    if (starts) text += "[[";
    end = begin + 1;
    const bool hidden = is_hidden(begin);
    while (!hidden && end < ids.size() && is_label[end] == is_label[begin] && !is_hidden(end)) {
      ++end;
    }
    text += hidden ? tokenizer.piece(ids[begin]) : part_text(ids, begin, end, tokenizer);
    if (is_label[begin] && (end == ids.size() || !is_label[end])) text += "]]";
  }
  return text;
}

}  // namespace s2s::run
