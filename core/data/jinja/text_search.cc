#include "jinja/text_search.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/utf8_reader.h"
#include "jinja/runtime.h"
#include "jinja/substring.h"
#include "jinja/utf8_text.h"

namespace s2s::jinja::methods {
namespace {

const MarkedText& text_in(const Value& self) { return *self.text(); }

/// Whether `has` is true for one of the texts (a string or a tuple of them).
template <class Has>
Value any_text(const Value& texts, Has has) {
  if (texts.is_text()) return Value::of(has(texts.text()->bytes()));
  const Values items = items_of(texts);
  charge(items.size());
  return Value::of(std::any_of(items.begin(), items.end(), [&](const Value& item) {
    return has(item.require_text().bytes());
  }));
}

void add_part(Values& parts, MarkedText part) {
  check_count(parts.size());
  parts.push_back(Value::of(std::move(part)));
}

/// Splits at white space; at most `limit` times unless it is negative.
Values split_at_space(const MarkedText& text, int64_t limit) {
  const std::string_view bytes = text.bytes();
  Walk walk;
  Values parts;
  size_t begin = leading_space(bytes);
  while (begin < bytes.size()) {
    size_t end = begin;
    while (end < bytes.size() && leading_space(bytes.substr(end, 4)) == 0) {
      walk.step();
      end += first_character(bytes.substr(end)).num_bytes;
    }
    if (limit >= 0 && static_cast<int64_t>(parts.size()) == limit) end = bytes.size();
    add_part(parts, text.slice(begin, end));
    begin = end + leading_space(bytes.substr(end));
  }
  return parts;
}

/// Does the same from the right.
Values split_at_space_from_right(const MarkedText& text, int64_t limit) {
  const std::string_view bytes = text.bytes();
  Walk walk;
  Values parts;
  size_t end = trimmed_right(bytes).size();
  while (end > 0) {
    size_t begin = end;
    while (begin > 0) {
      walk.step();
      const size_t size = last_character(bytes.substr(0, begin)).size();
      if (leading_space(bytes.substr(begin - size, size)) > 0) break;
      begin -= size;
    }
    if (static_cast<int64_t>(parts.size()) == limit) begin = 0;
    add_part(parts, text.slice(begin, end));
    end = trimmed_right(bytes.substr(0, begin)).size();
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

Values split_at(const MarkedText& text, const std::string& separator, int64_t limit) {
  if (separator.empty()) throw TemplateError("the separator of a split is empty");
  Values parts;
  size_t begin = 0;
  while (limit < 0 || static_cast<int64_t>(parts.size()) < limit) {
    const size_t found = find_part(text.bytes(), separator, begin);
    if (found == std::string::npos) break;
    add_part(parts, text.slice(begin, found));
    begin = found + separator.size();
  }
  add_part(parts, text.slice(begin, text.size()));
  return parts;
}

}  // namespace

Value split(const Value& self, const Arguments& arguments) {
  const Value separator = arguments.get(0, "sep", Value::none());
  const int64_t limit = arguments.get(1, "maxsplit", Value::of(int64_t{-1})).integer();
  if (separator.is<None>()) return Value::list(split_at_space(text_in(self), limit));
  return Value::list(split_at(text_in(self), separator.require_text().bytes(), limit));
}

Value split_from_right(const Value& self, const Arguments& arguments) {
  const int64_t limit = arguments.get(1, "maxsplit", Value::of(int64_t{-1})).integer();
  if (limit < 0) return split(self, arguments);
  const Value given = arguments.get(0, "sep", Value::none());
  if (given.is<None>()) return Value::list(split_at_space_from_right(text_in(self), limit));
  const std::string& separator = given.require_text().bytes();
  if (separator.empty()) throw TemplateError("the separator of a split is empty");
  const MarkedText& text = text_in(self);
  Values parts;
  const RightSearch search(text.bytes(), separator);
  size_t end = text.size();
  while (static_cast<int64_t>(parts.size()) < limit && end >= separator.size()) {
    const size_t found = search.find_before(end);
    if (found == std::string::npos) break;
    add_part(parts, text.slice(found + separator.size(), end));
    end = found;
  }
  parts.push_back(Value::of(text.slice(0, end)));
  std::reverse(parts.begin(), parts.end());
  return Value::list(std::move(parts));
}

namespace {

/// Returns the number of bytes of a line end at the front: a line feed, \r\n, or another of
/// Python's line ends.
size_t line_end(std::string_view text) {
  if (text.starts_with("\r\n")) return 2;
  constexpr std::string_view kEnds = "\n\r\v\f\x1c\x1d\x1e";
  if (kEnds.find(text.front()) != std::string_view::npos) return 1;
  if (text.starts_with("\xC2\x85")) return 2;
  return text.starts_with("\xE2\x80\xA8") || text.starts_with("\xE2\x80\xA9") ? 3 : 0;
}

}  // namespace

Value split_lines(const Value& self, const Arguments& arguments) {
  const bool keeps_ends = arguments.get(0, "keepends", Value::of(false)).is_true();
  const MarkedText& text = text_in(self);
  const std::string_view bytes = text.bytes();
  Walk walk;
  Values parts;
  size_t begin = 0;
  for (size_t at = 0; at < bytes.size();) {
    walk.step();
    const size_t size = line_end(bytes.substr(at));
    at += std::max<size_t>(size, 1);
    if (size == 0) continue;
    add_part(parts, text.slice(begin, keeps_ends ? at : at - size));
    begin = at;
  }
  if (begin < bytes.size()) add_part(parts, text.slice(begin, bytes.size()));
  return Value::list(std::move(parts));
}

namespace {

/// Returns the parts of a text around its characters: "", each character, "".
Values around_characters(const MarkedText& text, int64_t limit) {
  Values parts = {Value::of("")};
  const CharacterPlaces places = character_places(text.bytes());
  for (size_t i = 0; i < places.size(); ++i) {
    const bool is_last =
        i + 1 == places.size() || (limit >= 0 && static_cast<int64_t>(parts.size()) >= limit);
    add_part(parts, text.slice(places[i], is_last ? text.size() : places[i + 1]));
    if (is_last) break;
  }
  return parts;
}

}  // namespace

Value replace(const Value& self, const Arguments& arguments) {
  const std::string& old = arguments.require(0, "old").require_text().bytes();
  const MarkedText& fresh = arguments.require(1, "new").require_text();
  const int64_t limit = arguments.get(2, "count", Value::of(int64_t{-1})).integer();
  if (limit == 0) return self;
  const Values parts =
      old.empty() ? around_characters(text_in(self), limit) : split_at(text_in(self), old, limit);
  check_length(text_in(self).weight() + parts.size() * fresh.weight());
  MarkedText out;
  out.reserve(text_in(self).weight() + (parts.size() - 1) * fresh.weight());
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out.append(fresh);
    out.append(*parts[i].text());
  }
  return Value::of(std::move(out));
}

namespace {

/// The part of a text between the arguments `start` and `end`, which count characters, and the
/// index of its first character. Nothing if it would begin after the text.
struct Window {
  std::string_view bytes;
  size_t first_character = 0;
};

std::optional<Window> window(const Value& self, const Arguments& arguments) {
  const std::string_view bytes = text_in(self).bytes();
  const Value start = arguments.get(1, "start", Value::none());
  const Value end = arguments.get(2, "end", Value::none());
  if (start.is<None>() && end.is<None>()) return Window{bytes, 0};
  const CharacterPlaces places = character_places(bytes);
  const auto size = static_cast<int64_t>(places.size()) - 1;
  const auto bound = [size](const Value& value, int64_t otherwise) {
    if (value.is<None>()) return otherwise;
    const int64_t place = value.integer() < 0 ? value.integer() + size : value.integer();
    return std::max<int64_t>(place, 0);
  };
  const int64_t first = bound(start, 0), last = std::min(bound(end, size), size);
  if (first > last) return std::nullopt;
  const size_t from = places[static_cast<size_t>(first)], to = places[static_cast<size_t>(last)];
  return Window{bytes.substr(from, to - from), static_cast<size_t>(first)};
}

}  // namespace

Value starts_with(const Value& self, const Arguments& arguments) {
  const std::optional<Window> part = window(self, arguments);
  return any_text(arguments.require(0, "prefix"), [&](const std::string& prefix) {
    charge_bytes(prefix.size());
    return part && part->bytes.starts_with(prefix);
  });
}

Value ends_with(const Value& self, const Arguments& arguments) {
  const std::optional<Window> part = window(self, arguments);
  return any_text(arguments.require(0, "suffix"), [&](const std::string& suffix) {
    charge_bytes(suffix.size());
    return part && part->bytes.ends_with(suffix);
  });
}

namespace {

/// Returns -1 if the part is not there.
int64_t find_in(const Value& self, const Arguments& arguments, bool from_right) {
  const std::optional<Window> text = window(self, arguments);
  const std::string& part = arguments.require(0, "sub").require_text().bytes();
  if (!text) return -1;
  const size_t found = from_right ? RightSearch(text->bytes, part).find_before(text->bytes.size())
                                  : find_part(text->bytes, part);
  if (found == std::string_view::npos) return -1;
  return static_cast<int64_t>(text->first_character + num_characters(text->bytes.substr(0, found)));
}

}  // namespace

Value find(const Value& self, const Arguments& a) { return Value::of(find_in(self, a, false)); }

Value find_right(const Value& self, const Arguments& a) {
  return Value::of(find_in(self, a, true));
}

namespace {

Value found_index(int64_t found) {
  if (found < 0) throw TemplateError("substring not found");
  return Value::of(found);
}

}  // namespace

Value text_index(const Value& self, const Arguments& arguments) {
  return found_index(find_in(self, arguments, false));
}

Value text_index_right(const Value& self, const Arguments& arguments) {
  return found_index(find_in(self, arguments, true));
}

Value count_text(const Value& self, const Arguments& arguments) {
  const std::string& part = arguments.require(0, "sub").require_text().bytes();
  const std::optional<Window> text = window(self, arguments);
  if (!text) return Value::of(int64_t{0});
  if (part.empty()) return Value::of(num_characters(text->bytes) + 1);
  int64_t count = 0;
  for (size_t at = find_part(text->bytes, part); at != std::string_view::npos;
       at = find_part(text->bytes, part, at + part.size())) {
    ++count;
  }
  return Value::of(count);
}

namespace {

/// Returns the text before the separator, the separator and the text after it, or only the text if
/// it has no separator.
Value partition_at(const Value& self, const Arguments& arguments, bool from_right) {
  const MarkedText& text = text_in(self);
  const MarkedText& separator = arguments.require(0, "sep").require_text();
  if (separator.size() == 0) throw TemplateError("the separator of a partition is empty");
  const size_t found = from_right
                           ? RightSearch(text.bytes(), separator.bytes()).find_before(text.size())
                           : find_part(text.bytes(), separator.bytes());
  if (found == std::string::npos) {
    return from_right ? Value::tuple({Value::of(""), Value::of(""), self})
                      : Value::tuple({self, Value::of(""), Value::of("")});
  }
  return Value::tuple({Value::of(text.slice(0, found)), Value::of(separator),
                       Value::of(text.slice(found + separator.size(), text.size()))});
}

}  // namespace

Value partition(const Value& self, const Arguments& a) { return partition_at(self, a, false); }

Value partition_right(const Value& self, const Arguments& a) { return partition_at(self, a, true); }

}  // namespace s2s::jinja::methods
