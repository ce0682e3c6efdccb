// Converts values to text: Python's str(), repr() and json.dumps().

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <cmath>

#include "base/utf8_reader.h"
#include "files/json_text.h"
#include "jinja/runtime.h"
#include "jinja/text_builder.h"
#include "jinja/value.h"

namespace s2s::jinja {
namespace {

/// Whether Python's repr writes a character unchanged: str.isprintable.
bool is_printable(uint32_t code) {
  if (code < 0x7F) return code >= 0x20;
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(code));
  return category != UTF8PROC_CATEGORY_CN &&
         (category < UTF8PROC_CATEGORY_ZS || category > UTF8PROC_CATEGORY_CO);
}

std::string escaped(uint32_t code) {
  if (code == '\n') return "\\n";
  if (code == '\r') return "\\r";
  if (code == '\t') return "\\t";
  if (code < 0x100) return fmt::format("\\x{:02x}", code);
  return code < 0x10000 ? fmt::format("\\u{:04x}", code) : fmt::format("\\U{:08x}", code);
}

/// Writes texts as Python's repr does, for a value and all that it contains.
class ReprWriter {
 public:
  void write(const Value& value) {
    charge();
    if (const MarkedText* text = value.text()) return write_text(text->bytes());
    if (const List* list = value.items()) return write_list(*list);
    if (const Dict* dict = value.dict()) return write_dict(*dict);
    out_ += value.is_undefined() ? std::string("Undefined") : to_text(value).bytes();
  }
  std::string take() { return out_.take(); }

 private:
  void write_text(std::string_view text) {
    const bool has_single = text.find('\'') != std::string_view::npos;
    const char quote = has_single && text.find('"') == std::string_view::npos ? '"' : '\'';
    out_ += quote;
    while (!text.empty()) {
      const Utf8Character character = first_character(text);
      const std::string_view bytes = text.substr(0, character.num_bytes);
      if (bytes == "\\" || bytes == std::string_view(&quote, 1)) {
        out_ += '\\';
        out_ += bytes;
      } else if (is_printable(character.code)) {
        out_ += bytes;
      } else {
        out_ += escaped(character.code);
      }
      text.remove_prefix(character.num_bytes);
    }
    out_ += quote;
  }

  void write_list(const List& list) {
    out_ += list.is_tuple ? '(' : '[';
    bool is_first = true;
    for (const Value& item : list.items) {
      if (!is_first) out_ += ", ";
      is_first = false;
      write(item);
    }
    if (list.is_tuple && list.items.size() == 1) out_ += ',';
    out_ += list.is_tuple ? ')' : ']';
  }

  void write_dict(const Dict& dict) {
    out_ += dict.is_namespace ? "<Namespace {" : "{";
    bool is_first = true;
    for (const auto& [key, value] : dict.members) {
      if (!is_first) out_ += ", ";
      is_first = false;
      write(key);
      out_ += ": ";
      write(value);
    }
    out_ += dict.is_namespace ? "}>" : "}";
  }

  TextBuilder out_;
};

class JsonWriter {
 public:
  explicit JsonWriter(const JsonStyle& style) : style_(style) {}

  void write(const Value& value) {
    charge();
    if (const MarkedText* text = value.text()) {
      write_text(text->bytes());
    } else if (const List* list = value.items()) {
      write_list(*list);
    } else if (const Dict* dict = value.dict(); dict != nullptr && !dict->is_namespace) {
      write_dict(*dict);
    } else if (value.is<None>()) {
      out_ += "null";
    } else if (const bool* flag = std::get_if<bool>(&value.data())) {
      out_ += *flag ? "true" : "false";
    } else if (value.is_number()) {
      write_number(value);
    } else {
      throw TemplateError("a value of type " + value.type_name() + " is not JSON serializable");
    }
  }
  std::string take() { return out_.take(); }

 private:
  void write_number(const Value& value) {
    if (value.is<double>()) {
      std::string text;
      data::append_json_number(text, value.number());
      out_ += text;
    } else {
      out_ += std::to_string(value.integer());
    }
  }

  void write_text(std::string_view text) {
    out_ += '"';
    while (!text.empty()) {
      const Utf8Character character = first_character(text);
      write_character(character.code, text.substr(0, character.num_bytes));
      text.remove_prefix(character.num_bytes);
    }
    out_ += '"';
  }

  void write_character(uint32_t code, std::string_view bytes) {
    constexpr std::string_view kPlain = "\"\\\n\r\t\b\f", kShort = "\"\\nrtbf";
    const size_t at = bytes.size() == 1 ? kPlain.find(bytes[0]) : std::string_view::npos;
    if (at != std::string_view::npos) {
      out_ += '\\';
      out_ += kShort[at];
    } else if (code < 0x20 || (style_.ascii_only && code >= 0x7F)) {
      if (code >= 0x10000) {
        const uint32_t rest = code - 0x10000;
        out_ += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (rest >> 10), 0xDC00 + (rest & 0x3FF));
      } else {
        out_ += fmt::format("\\u{:04x}", code);
      }
    } else {
      out_ += bytes;
    }
  }

  void write_list(const List& list) {
    begin('[');
    for (size_t i = 0; i < list.items.size(); ++i) {
      separate(i == 0);
      write(list.items[i]);
    }
    end(']', list.items.empty());
  }

  void write_dict(const Dict& dict) {
    Members sorted;
    if (style_.sort_keys) {
      sorted = dict.members;
      const Held buffer(sorted.size() * sizeof(Members::value_type));  // memory of stable_sort
      std::stable_sort(sorted.begin(), sorted.end(),
                       [](const auto& a, const auto& b) { return less(a.first, b.first); });
    }
    const Members& members = style_.sort_keys ? sorted : dict.members;
    begin('{');
    for (size_t i = 0; i < members.size(); ++i) {
      separate(i == 0);
      write_key(members[i].first);
      out_ += style_.key_separator;
      write(members[i].second);
    }
    end('}', members.empty());
  }

  void write_key(const Value& key) {
    if (key.is_text()) return write(key);
    out_ += '"';
    write(key);
    out_ += '"';
  }

  void begin(char bracket) {
    out_ += bracket;
    if (++depth_ > kMostDepth) throw TemplateError("tojson of a value that is nested too deep");
  }
  void separate(bool is_first) {
    if (!is_first) out_ += style_.item_separator;
    break_line();
  }
  void end(char bracket, bool is_empty) {
    --depth_;
    if (!is_empty) break_line();
    out_ += bracket;
  }
  void break_line() {
    if (style_.indent < 0) return;
    out_ += '\n';
    out_.add_repeated(static_cast<size_t>(style_.indent) * depth_, ' ');
  }

  static constexpr size_t kMostDepth = 200;
  const JsonStyle& style_;
  TextBuilder out_;
  size_t depth_ = 0;
};

}  // namespace

std::string repr(const Value& value) {
  ReprWriter writer;
  writer.write(value);
  return writer.take();
}

MarkedText to_text(const Value& value) {
  if (const MarkedText* text = value.text()) return *text;
  if (value.is_undefined()) return {};
  if (const bool* flag = std::get_if<bool>(&value.data())) {
    return MarkedText(*flag ? "True" : "False");
  }
  if (value.is<int64_t>()) return MarkedText(std::to_string(value.integer()));
  if (value.is<double>()) return MarkedText(data::python_number(value.number()));
  if (value.items() != nullptr || value.dict() != nullptr) return MarkedText(repr(value));
  return MarkedText(value.is<None>() ? "None" : "<function>");
}

std::string to_json(const Value& value, const JsonStyle& style) {
  JsonWriter writer(style);
  writer.write(value);
  return writer.take();
}

}  // namespace s2s::jinja
