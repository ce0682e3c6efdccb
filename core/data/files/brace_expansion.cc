#include "files/brace_expansion.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/number_text.h"
#include "base/regex.h"
#include "files/files_errors.h"

namespace s2s::files {
namespace {

using Names = std::vector<std::string>;
constexpr size_t kMaxNames = 1'000'000;
constexpr size_t kMaxBytes = size_t{256} << 20;  // of all names
/// Of all names and parts of names that are made.
constexpr size_t kMaxWorkBytes = size_t{512} << 20;
constexpr size_t kLongestPattern = size_t{64} << 10;  // each part copies what is before it
constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

struct Expansion {
  const std::string& pattern;  // in messages
  mutable uint64_t made_bytes = 0;

  [[noreturn]] void fail(const char* reason) const { throw files_errors::braces(pattern, reason); }

  void check_size(uint64_t size) const {
    if (size > kMaxNames) fail("expands to more than a million names");
  }

  /// Counts names before they are made, because parts of names at each depth are in memory
  /// together.
  void spend(uint64_t count, uint64_t bytes) const {
    made_bytes += count * sizeof(std::string) + bytes;
    if (made_bytes > kMaxWorkBytes) fail("expands to more than 256 MiB of names");
  }

  static uint64_t num_bytes(const Names& names) {
    uint64_t bytes = 0;
    for (const std::string& name : names) bytes += name.size();
    return bytes;
  }

  static bool is_nothing(const Names& names) { return names.size() == 1 && names[0].empty(); }

  /// Joins each of `left` with each of `right`; the right one changes fastest.
  Names product(Names left, Names right) const {
    check_size(uint64_t{left.size()} * right.size());
    const uint64_t bytes = num_bytes(left) * right.size() + num_bytes(right) * left.size();
    if (bytes > kMaxBytes) fail("expands to more than 256 MiB of names");
    if (is_nothing(left)) return right;
    if (is_nothing(right)) return left;
    spend(uint64_t{left.size()} * right.size(), bytes);
    Names all;
    all.reserve(left.size() * right.size());
    for (const std::string& first : left) {
      for (const std::string& second : right) all.push_back(first + second);
    }
    return all;
  }

  int64_t number(const std::string& text) const {
    if (const auto value = read_number<int64_t>(text)) return *value;
    fail("has a number that is too large");
  }

  static bool has_leading_zero(const std::string& text) {
    return text != "0" && text != "-0" && (text.starts_with("0") || text.starts_with("-0"));
  }

  static std::string padded(int64_t value, size_t width) {
    std::string digits = std::to_string(value < 0 ? -value : value);
    const size_t sign = value < 0 ? 1 : 0;
    if (digits.size() + sign < width) digits.insert(0, width - sign - digits.size(), '0');
    return (value < 0 ? "-" : "") + digits;
  }

  int64_t step_of(const std::string& text) const {
    return text.empty() ? 1 : std::max<int64_t>(1, number(text));
  }

  Names int_range(const std::vector<std::string>& groups) const {
    const std::string& first = groups[1];
    const std::string& last = groups[2];
    const int64_t start = number(first);
    const int64_t end = number(last);
    const int64_t step = step_of(groups[3]);
    const bool pad = has_leading_zero(first) || has_leading_zero(last);
    const size_t width = pad ? std::max(first.size(), last.size()) : 0;
    const auto distance = static_cast<uint64_t>(end) - static_cast<uint64_t>(start);
    const uint64_t count =
        (start < end ? distance : 0 - distance) / static_cast<uint64_t>(step) + 1;
    check_size(count);
    spend(count, count * width);
    Names all;
    for (uint64_t i = 0; i < count; ++i) {
      const int64_t away = static_cast<int64_t>(i) * step;
      all.push_back(padded(start < end ? start + away : start - away, width));
    }
    return all;
  }

  Names letter_range(const std::vector<std::string>& groups) const {
    const auto start = static_cast<int64_t>(kLetters.find(groups[1]));
    const auto end = static_cast<int64_t>(kLetters.find(groups[2]));
    const int64_t step = step_of(groups[3]);
    Names all;
    const int64_t direction = start < end ? step : -step;
    for (int64_t at = start; start < end ? at <= end : at >= end; at += direction) {
      all.emplace_back(1, kLetters[static_cast<size_t>(at)]);
    }
    return all;
  }

  /// Expands a range or a list; nothing if the text is neither.
  std::optional<Names> expression(const std::string& text, int depth) const {
    static const Regex kIntRange(R"((-?[0-9]+)\.\.(-?[0-9]+)(?:\.\.-?([0-9]+))?)");
    static const Regex kLetterRange(R"(([A-Za-z])\.\.([A-Za-z])(?:\.\.-?([0-9]+))?)");
    if (const auto groups = kIntRange.match(text)) return int_range(*groups);
    if (const auto groups = kLetterRange.match(text)) return letter_range(*groups);
    return list(text, depth);
  }

  std::optional<Names> list(const std::string& text, int depth) const {
    Names all;
    size_t start = 0;
    int open = 0;
    bool is_list = false;
    const auto take = [&](size_t end) {
      Names part = expand(text.substr(start, end - start), depth);
      check_size(all.size() + part.size());
      all.insert(all.end(), std::make_move_iterator(part.begin()),
                 std::make_move_iterator(part.end()));
    };
    for (size_t at = 0; at < text.size(); ++at) {
      if (text[at] == '{') ++open;
      if (text[at] == '}') --open;
      if (text[at] != ',' || open != 0) continue;
      take(at);
      start = at + 1;
      is_list = true;
    }
    if (!is_list) return std::nullopt;
    take(text.size());
    return all;
  }

  Names expand(const std::string& text, int depth) const {
    constexpr int kDeepest = 50;
    if (depth > kDeepest) fail("is nested too deeply");
    Names all = {""};
    size_t start = 0;
    int open = 0;
    for (size_t at = 0; at < text.size(); ++at) {
      if (text[at] == '{' && open++ == 0) {
        all = product(std::move(all), {text.substr(start, at - start)});
        start = at;
      } else if (text[at] == '}' && --open == 0) {
        const std::string inside = text.substr(start + 1, at - start - 1);
        std::optional<Names> names = expression(inside, depth + 1);
        if (!names) names = product(product({"{"}, expand(inside, depth + 1)), {"}"});
        all = product(std::move(all), std::move(*names));
        start = at + 1;
      }
      if (open < 0) break;
    }
    if (open != 0) fail("has braces that are not closed or not opened");
    return product(std::move(all), {text.substr(start)});
  }
};

std::string replaced(const std::string& text, std::string_view from, char to) {
  std::string out;
  size_t begin = 0;
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, begin)) {
    out.append(text, begin, at - begin).push_back(to);
    begin = at + from.size();
  }
  return out.append(text, begin, std::string::npos);
}

/// Replaces other brackets around a range or a list by braces.
void replace_brackets(std::string& text, char open, char close) {
  size_t begin = text.find(open);
  while (begin != std::string::npos) {
    const size_t end = text.find(close, begin);
    if (end == std::string::npos) return;
    const std::string_view inside = std::string_view(text).substr(begin + 1, end - begin - 1);
    if (inside.find("..") != std::string_view::npos || inside.find(',') != std::string_view::npos) {
      text[begin] = '{';
      text[end] = '}';
    }
    begin = text.find(open, begin + 1);
  }
}

}  // namespace

std::vector<std::string> expand_shard_pattern(const std::string& pattern) {
  std::string text = replaced(replaced(pattern, "_OP_", '{'), "_CL_", '}');
  if (!text.starts_with("pipe:")) {
    replace_brackets(text, '(', ')');
    replace_brackets(text, '[', ']');
    replace_brackets(text, '<', '>');
  }
  const Expansion expansion{pattern};
  if (text.size() > kLongestPattern) expansion.fail("is longer than 64 KiB");
  return expansion.expand(text, 0);
}

}  // namespace s2s::files
