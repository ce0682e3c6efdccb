#include "unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "unicode_tables.h"

namespace s2s::hf {
namespace {

constexpr char kReplacement[] = "\xEF\xBF\xBD";

uint8_t byte_at(std::string_view text, size_t at) { return static_cast<uint8_t>(text[at]); }

bool continues(uint8_t byte) { return (byte & 0xC0) == 0x80; }

/// Number of bytes of a character with the first byte `lead`; 0 if no character starts with it.
size_t character_size(uint8_t lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return 2;
  if (lead >= 0xE0 && lead <= 0xEF) return 3;
  return lead >= 0xF0 && lead <= 0xF4 ? 4 : 0;
}

/// The second byte has a smaller range after some first bytes, which excludes overlong forms,
/// surrogates and values above U+10FFFF.
bool second_fits(uint8_t lead, uint8_t second) {
  if (lead == 0xE0) return second >= 0xA0 && second <= 0xBF;
  if (lead == 0xED) return second >= 0x80 && second <= 0x9F;
  if (lead == 0xF0) return second >= 0x90 && second <= 0xBF;
  if (lead == 0xF4) return second >= 0x80 && second <= 0x8F;
  return continues(second);
}

/// Number of bytes (>= 1) from `at` that are a character, or an incomplete start of one (then
/// `whole` is false).
size_t well_formed_prefix(std::string_view text, size_t at, bool& whole) {
  const uint8_t lead = byte_at(text, at);
  const size_t size = character_size(lead);
  size_t used = 1;
  whole = size == 1;
  if (size < 2) return used;
  if (at + 1 >= text.size() || !second_fits(lead, byte_at(text, at + 1))) return used;
  for (used = 2; used < size; ++used) {
    if (at + used >= text.size() || !continues(byte_at(text, at + used))) return used;
  }
  whole = true;
  return used;
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<uint8_t>(c) < 128; });
}

template <class Row>
const Row* find_range(std::span<const Row> rows, char32_t code) {
  auto it = std::upper_bound(rows.begin(), rows.end(), code,
                             [](char32_t value, const Row& row) { return value < row.first; });
  if (it == rows.begin()) return nullptr;
  --it;
  return code <= it->last ? &*it : nullptr;
}

/// Common characters that NFC and NFD do not change: composed, of combining class 0, and never the
/// second part of a composition.
bool is_composed(char32_t code) {
  return code < 0x300 || (code >= 0x3400 && code <= 0x9FFF) || (code >= 0xAC00 && code <= 0xD7A3) ||
         (code >= 0x0410 && code <= 0x0482) || (code >= 0x3041 && code <= 0x3096) ||
         (code >= 0x1F300 && code <= 0x1FAFF);
}

bool is_nfc_already(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    if (!is_composed(c.value)) return false;
    i += c.size;
  }
  return true;
}

utf8proc_option_t form_options(NormalForm form) {
  int options = UTF8PROC_STABLE;
  options |=
      form == NormalForm::kNfc || form == NormalForm::kNfkc ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
  if (form == NormalForm::kNfkc || form == NormalForm::kNfkd) options |= UTF8PROC_COMPAT;
  return static_cast<utf8proc_option_t>(options);
}

void append_normalized(std::string_view text, NormalForm form, std::string& out) {
  if (text.empty()) return;
  utf8proc_uint8_t* mapped = nullptr;
  const utf8proc_ssize_t size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &mapped, form_options(form));
  if (size < 0) throw std::runtime_error(std::string("utf8proc: ") + utf8proc_errmsg(size));
  out.append(reinterpret_cast<const char*>(mapped), static_cast<size_t>(size));
  free(mapped);
}

void append_lowercase(char32_t code, std::string& out) {
  const auto it =
      std::lower_bound(kLowercase.begin(), kLowercase.end(), code,
                       [](const LowercaseRow& row, char32_t value) { return row.from < value; });
  if (it != kLowercase.end() && it->from == code) {
    append_utf8(it->to, out);
    if (it->second != 0) append_utf8(it->second, out);
    return;
  }
  append_utf8(static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code))), out);
}

bool is_word_category(const char* category) {
  const std::string_view name(category);
  return name[0] == 'L' || name[0] == 'M' || name == "Nd" || name == "Nl" || name == "Pc";
}

/// Other_Alphabetic without letters and marks: the circled and squared letters.
bool is_letter_symbol(char32_t code) {
  return (code >= 0x24B6 && code <= 0x24E9) || (code >= 0x1F130 && code <= 0x1F149) ||
         (code >= 0x1F150 && code <= 0x1F169) || (code >= 0x1F170 && code <= 0x1F189);
}

}  // namespace

CodePoint code_point_at(std::string_view text, size_t at) {
  const uint8_t lead = byte_at(text, at);
  if (lead < 0x80) return {lead, 1};
  const auto next = [&](size_t i) { return static_cast<char32_t>(byte_at(text, at + i) & 0x3F); };
  if (lead < 0xE0) return {((lead & 0x1FU) << 6) | next(1), 2};
  if (lead < 0xF0) return {((lead & 0x0FU) << 12) | (next(1) << 6) | next(2), 3};
  return {((lead & 0x07U) << 18) | (next(1) << 12) | (next(2) << 6) | next(3), 4};
}

CodePoint code_point_before(std::string_view text, size_t end) {
  size_t at = end - 1;
  while (at > 0 && continues(byte_at(text, at))) --at;
  return code_point_at(text, at);
}

void append_utf8(char32_t code, std::string& out) {
  utf8proc_uint8_t buffer[4];
  const utf8proc_ssize_t size = utf8proc_encode_char(static_cast<utf8proc_int32_t>(code), buffer);
  out.append(reinterpret_cast<const char*>(buffer), static_cast<size_t>(size));
}

bool is_valid_utf8(std::string_view text) {
  bool whole = true;
  for (size_t i = 0; i < text.size();) {
    if (byte_at(text, i) < 0x80) {
      ++i;
      continue;
    }
    i += well_formed_prefix(text, i, whole);
    if (!whole) return false;
  }
  return true;
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    bool whole = true;
    const size_t size = well_formed_prefix(text, i, whole);
    out.append(whole ? text.substr(i, size) : std::string_view(kReplacement));
    i += size;
  }
  return out;
}

bool is_white_space(char32_t code) {
  if (code <= 0x20) return code == 0x20 || (code >= 0x09 && code <= 0x0D);
  return code == 0x85 || code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) ||
         code == 0x2028 || code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
}

bool is_word(char32_t code) {
  if (code == 0x200C || code == 0x200D || is_letter_symbol(code)) return true;
  if (const CategoryRange* newer = find_range(kNewerCategories, code)) {
    return is_word_category(newer->category);
  }
  return is_word_category(utf8proc_category_string(static_cast<utf8proc_int32_t>(code)));
}

std::string normalize(std::string_view text, NormalForm form) {
  if (is_ascii(text)) return std::string(text);
  if (form == NormalForm::kNfc && is_nfc_already(text)) return std::string(text);
  std::string out;
  size_t begin = 0;
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    if (c.value >= 0x7FD && find_range(kPlainToNormalizers, c.value) != nullptr) {
      append_normalized(text.substr(begin, i - begin), form, out);
      out.append(text.substr(i, c.size));
      begin = i + c.size;
    }
    i += c.size;
  }
  append_normalized(text.substr(begin), form, out);
  return out;
}

std::string lowercase(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    if (c.value < 0x80) {
      out += static_cast<char>(c.value >= 'A' && c.value <= 'Z' ? c.value + 32 : c.value);
    } else {
      append_lowercase(c.value, out);
    }
    i += c.size;
  }
  return out;
}

}  // namespace s2s::hf
