#include "jinja/utf8_text.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <optional>

#include "base/utf8_reader.h"
#include "jinja/runtime.h"
#include "jinja/text_builder.h"

namespace s2s::jinja {
namespace {

bool is_space(uint32_t code) {
  if ((code >= 9 && code <= 13) || (code >= 28 && code <= 32)) return true;
  if (code < 0x80) return false;
  const bool is_line = code == 0x85 || code == 0x2028 || code == 0x2029;
  return is_line || utf8proc_category(static_cast<utf8proc_int32_t>(code)) == UTF8PROC_CATEGORY_ZS;
}

bool contains(std::string_view chars, std::string_view character) {
  charge_bytes(chars.size());
  return chars.find(character) != std::string_view::npos;
}

bool is_stripped(std::string_view character, const std::string* chars) {
  return chars ? contains(*chars, character) : is_space(first_character(character).code);
}

bool is_letter(uint32_t code) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(code));
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

bool is_kind(uint32_t code, CharacterKind kind) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(code));
  const bool is_number = category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
  if (kind == kAscii) return code < 0x80;
  if (kind == kSpaces) return is_space(code);
  if (kind == kLetters) return is_letter(code);
  return kind == kDigits ? category == UTF8PROC_CATEGORY_ND : is_letter(code) || is_number;
}

bool begins_word_after(uint32_t code) {
  constexpr std::string_view kSigns = "-({[<";
  return is_space(code) || (code < 0x80 && kSigns.find(static_cast<char>(code)) != kSigns.npos);
}

uint32_t cased(uint32_t code, bool is_upper) {
  const auto given = static_cast<utf8proc_int32_t>(code);
  return static_cast<uint32_t>(is_upper ? utf8proc_toupper(given) : utf8proc_tolower(given));
}

}  // namespace

std::string_view last_character(std::string_view text) {
  size_t begin = text.size() - 1;
  while (begin > 0 && text.size() - begin < 4 && (text[begin] & 0xC0) == 0x80) --begin;
  return text.substr(begin);
}

bool is_all(std::string_view text, CharacterKind kind) {
  Walk walk;
  if (text.empty()) return kind == kAscii;
  while (!text.empty()) {
    walk.step();
    const Utf8Character character = first_character(text);
    if (!is_kind(character.code, kind)) return false;
    text.remove_prefix(character.num_bytes);
  }
  return true;
}

bool has_only_case(std::string_view text, Case wanted) {
  Walk walk;
  bool has_one = false;
  while (!text.empty()) {
    walk.step();
    const Utf8Character character = first_character(text);
    const bool is_upper = cased(character.code, false) != character.code;
    const bool is_lower = cased(character.code, true) != character.code;
    if (wanted == Case::kLower ? is_upper : is_lower) return false;
    has_one = has_one || is_upper || is_lower;
    text.remove_prefix(character.num_bytes);
  }
  return has_one;
}

size_t num_words(std::string_view text) {
  Walk walk;
  size_t count = 0;
  bool is_inside = false;
  while (!text.empty()) {
    walk.step();
    const Utf8Character character = first_character(text);
    const bool is_part = character.code == '_' || is_kind(character.code, kWords);
    if (is_part && !is_inside) ++count;
    is_inside = is_part;
    text.remove_prefix(character.num_bytes);
  }
  return count;
}

CharacterPlaces character_places(std::string_view text) {
  if (text.size() >= (size_t{1} << 32)) throw TemplateError("a text is longer than 4 GB");
  Walk walk;
  CharacterPlaces places;
  for (size_t at = 0; at < text.size(); at += first_character(text.substr(at)).num_bytes) {
    walk.step();
    places.push_back(static_cast<uint32_t>(at));
  }
  places.push_back(static_cast<uint32_t>(text.size()));
  return places;
}

size_t num_characters(std::string_view text) {
  charge(text.size() / 32);
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

size_t leading_space(std::string_view text) {
  size_t size = 0;
  while (size < text.size()) {
    const Utf8Character character = first_character(text.substr(size));
    if (!is_space(character.code)) break;
    size += character.num_bytes;
  }
  return size;
}

std::string_view trimmed_right(std::string_view text) {
  while (!text.empty()) {
    const std::string_view last = last_character(text);
    if (!is_space(first_character(last).code)) break;
    text.remove_suffix(last.size());
  }
  return text;
}

MarkedText strip(const MarkedText& text, Side side, const std::string* chars) {
  charge_bytes(text.size());
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
  TextBuilder out;
  std::string_view rest = text.bytes();
  bool is_first = true;  // first of the text, or of a word
  while (!rest.empty()) {
    const Utf8Character character = first_character(rest);
    const bool is_swapped_up =
        wanted == Case::kSwapped && cased(character.code, true) != character.code;
    const bool begins_word = wanted != Case::kLower && wanted != Case::kSwapped && is_first;
    const bool is_upper = wanted == Case::kUpper || begins_word || is_swapped_up;
    const bool is_valid = character.kind == Utf8Character::kValid;
    if (is_valid && character.code < 0x80) {
      out += static_cast<char>(cased(character.code, is_upper));
    } else if (is_valid) {
      out += utf8_character(cased(character.code, is_upper));
    } else {
      out += rest.substr(0, character.num_bytes);
    }
    is_first = wanted == Case::kTitle ? !is_letter(character.code)
                                      : wanted == Case::kWords && begins_word_after(character.code);
    rest.remove_prefix(character.num_bytes);
  }
  const bool keeps_places = out.size() == text.size();
  return keeps_places ? text.with_bytes(out.take()) : MarkedText(out.take());
}

namespace {

/// %[(name)][flags][width][.precision]kind
struct FormatField {
  std::optional<std::string> name;
  std::string flags;
  size_t width = 0;
  std::optional<size_t> precision;
  char kind = '\0';
};

size_t take_size(std::string_view& rest) {
  constexpr size_t kMostWidth = 1000;
  size_t size = 0;
  while (!rest.empty() && rest[0] >= '0' && rest[0] <= '9') {
    size = size * 10 + static_cast<size_t>(rest[0] - '0');
    if (size > kMostWidth) throw TemplateError("a format is wider than 1000 characters");
    rest.remove_prefix(1);
  }
  return size;
}

/// Removes the field at the front, whose % is already removed.
FormatField take_field(std::string_view& rest) {
  FormatField field;
  if (rest.starts_with('(')) {
    const size_t end = rest.find(')');
    if (end == std::string_view::npos) throw TemplateError("incomplete format key");
    field.name = std::string(rest.substr(1, end - 1));
    rest.remove_prefix(end + 1);
  }
  const size_t flags = std::min(rest.find_first_not_of("-+ #0"), rest.size());
  field.flags = std::string(rest.substr(0, std::min<size_t>(flags, 8)));
  rest.remove_prefix(flags);
  field.width = take_size(rest);
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    field.precision = take_size(rest);
  }
  if (rest.empty()) throw TemplateError("incomplete format");
  field.kind = rest[0];
  rest.remove_prefix(1);
  return field;
}

std::string padded(std::string text, const FormatField& field) {
  const size_t size = num_characters(text);
  if (size >= field.width) return text;
  const std::string space(field.width - size, ' ');
  return field.flags.find('-') != std::string::npos ? text + space : space + text;
}

std::string formatted_number(const FormatField& field, const Value& value) {
  std::string pattern = "%" + field.flags + std::to_string(field.width);
  if (field.precision) pattern += "." + std::to_string(*field.precision);
  if (field.width == 0) pattern = "%" + field.flags + pattern.substr(2 + field.flags.size());
  std::array<char, 2400> text{};  // fits the widest number and the widest field
  if (std::string_view("feEgG").find(field.kind) != std::string_view::npos) {
    pattern += field.kind;
    std::snprintf(text.data(), text.size(), pattern.c_str(), value.number());
    return text.data();
  }
  const bool is_decimal = field.kind == 'd' || field.kind == 'i';
  if (is_decimal && value.is<double>() && !(std::abs(value.number()) < 9e18)) {
    throw TemplateError("a number is too large for %d");
  }
  const int64_t number =
      is_decimal && value.is<double>() ? static_cast<int64_t>(value.number()) : value.integer();
  const char kind = field.kind == 'i' ? 'd' : field.kind;
  pattern += std::string("ll") + kind;
  if (!is_decimal && number < 0) throw TemplateError("a negative number in a format");
  std::snprintf(text.data(), text.size(), pattern.c_str(), static_cast<long long>(number));
  return text.data();
}

std::string formatted(const FormatField& field, const Value& value) {
  if (field.kind == 's' || field.kind == 'r') {
    std::string text = field.kind == 's' ? to_text(value).bytes() : repr(value);
    if (field.precision) {
      const CharacterPlaces places = character_places(text);
      if (*field.precision + 1 < places.size()) text.resize(places[*field.precision]);
    }
    return padded(std::move(text), field);
  }
  if (field.kind == 'c') {
    const std::string text = value.is_text() ? value.text()->bytes() : "";
    if (num_characters(text) != 1) throw TemplateError("%c needs one character");
    return padded(text, field);
  }
  if (std::string_view("dixXofeEgG").find(field.kind) == std::string_view::npos) {
    throw TemplateError(std::string("unsupported format '%") + field.kind + "'");
  }
  return formatted_number(field, value);
}

}  // namespace

std::string percent_format(std::string_view format, const Value& values) {
  constexpr size_t kFieldUnits = 20;
  charge_bytes(format.size());
  const List* list = values.items();
  const Dict* dict = values.dict();
  const bool is_tuple = list && list->is_tuple;
  const Values given = is_tuple ? list->items : Values{values};
  TextBuilder out;
  size_t next = 0;
  while (!format.empty()) {
    const size_t text = std::min(format.find('%'), format.size());
    out += format.substr(0, text);
    format.remove_prefix(text);
    if (format.empty()) break;
    format.remove_prefix(1);
    charge(kFieldUnits);
    const FormatField field = take_field(format);
    if (field.kind == '%') {
      out += '%';
      continue;
    }
    if (field.name && !dict) throw TemplateError("a format with names needs a dict");
    const Value* named = field.name ? dict->find(std::string_view(*field.name)) : nullptr;
    if (field.name && !named) throw TemplateError("no '" + *field.name + "' for a format");
    if (!named && next == given.size()) throw TemplateError("not enough values for a format");
    out += formatted(field, named ? *named : given[next++]);
  }
  if (next < given.size() && !dict && !(list && !is_tuple)) throw TemplateError("too many values");
  return out.take();
}

}  // namespace s2s::jinja
