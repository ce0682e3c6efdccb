#include "jinja/utf8_text.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>

#include "base/utf8_reader.h"
#include "jinja/string_literal.h"

namespace s2s::jinja {
namespace {

bool is_space(uint32_t code) {
  if ((code >= 9 && code <= 13) || (code >= 28 && code <= 32)) return true;
  if (code < 0x80) return false;
  const bool is_line = code == 0x85 || code == 0x2028 || code == 0x2029;
  return is_line || utf8proc_category(static_cast<utf8proc_int32_t>(code)) == UTF8PROC_CATEGORY_ZS;
}

/// The last character: its bytes.
std::string_view last_character(std::string_view text) {
  size_t begin = text.size() - 1;
  while (begin > 0 && text.size() - begin < 4 && (text[begin] & 0xC0) == 0x80) --begin;
  return text.substr(begin);
}

bool contains(std::string_view chars, std::string_view character) {
  return chars.find(character) != std::string_view::npos;
}

bool is_stripped(std::string_view character, const std::string* chars) {
  return chars ? contains(*chars, character) : is_space(first_character(character).code);
}

bool is_letter(uint32_t code) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(code));
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

uint32_t cased(uint32_t code, bool is_upper) {
  const auto given = static_cast<utf8proc_int32_t>(code);
  return static_cast<uint32_t>(is_upper ? utf8proc_toupper(given) : utf8proc_tolower(given));
}

}  // namespace

std::vector<size_t> character_places(std::string_view text) {
  std::vector<size_t> places;
  for (size_t at = 0; at < text.size(); at += first_character(text.substr(at)).num_bytes) {
    places.push_back(at);
  }
  places.push_back(text.size());
  return places;
}

size_t num_characters(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

MarkedText strip(const MarkedText& text, Side side, const std::string* chars) {
  const std::string_view bytes = text.bytes();
  size_t begin = 0, end = bytes.size();
  while (side != Side::kRight && begin < end) {
    const size_t size = first_character(bytes.substr(begin, end - begin)).num_bytes;
    if (!is_stripped(bytes.substr(begin, size), chars)) break;
    begin += size;
  }
  while (side != Side::kLeft && begin < end) {
    const std::string_view last = last_character(bytes.substr(begin, end - begin));
    if (!is_stripped(last, chars)) break;
    end -= last.size();
  }
  return text.slice(begin, end);
}

MarkedText with_case(const MarkedText& text, Case wanted) {
  std::string out;
  std::string_view rest = text.bytes();
  bool is_first = true;  // of the text, or of a word
  while (!rest.empty()) {
    const Utf8Character character = first_character(rest);
    const bool is_upper = wanted == Case::kUpper || (wanted != Case::kLower && is_first);
    const bool is_valid = character.kind == Utf8Character::kValid;
    out += is_valid ? character_of(cased(character.code, is_upper))
                    : std::string(rest.substr(0, character.num_bytes));
    is_first = wanted == Case::kTitle && !is_letter(character.code);
    rest.remove_prefix(character.num_bytes);
  }
  return out.size() == text.size() ? text.with_bytes(std::move(out)) : MarkedText(std::move(out));
}

std::string percent_format(std::string_view format, const Value& values) {
  const List* list = values.items();
  std::vector<Value> given = list && list->is_tuple ? list->items : std::vector<Value>{values};
  std::string out;
  size_t next = 0;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      out += format[i];
      continue;
    }
    const char kind = ++i < format.size() ? format[i] : '\0';
    if (kind == '%') {
      out += '%';
      continue;
    }
    if (next == given.size()) throw TemplateError("not enough values for a format");
    const Value& value = given[next++];
    if (kind == 's') {
      out += to_text(value).bytes();
    } else if (kind == 'r') {
      out += repr(value);
    } else if (kind == 'd' || kind == 'i') {
      out += std::to_string(value.is<double>() ? static_cast<int64_t>(value.number())
                                               : value.integer());
    } else if (kind == 'f') {
      out += fmt::format("{:.6f}", value.number());
    } else if (kind == 'x') {
      out += fmt::format("{:x}", value.integer());
    } else {
      throw TemplateError(std::string("unsupported format '%") + kind + "'");
    }
  }
  if (list && list->is_tuple && next < given.size()) throw TemplateError("too many values");
  return out;
}

}  // namespace s2s::jinja
