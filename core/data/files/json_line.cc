// Parses JSON, including what Python's json accepts beyond the standard.

#include <fmt/format.h>

#include <array>
#include <limits>
#include <utility>

#include "base/foreign_json.h"
#include "files/files_errors.h"
#include "files/json_fields.h"

namespace s2s::data {
namespace {

// Tokens that are not JSON are replaced by strings that begin with a control character.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kTokens = {
    {{"NaN", "\x01NaN"}, {"Infinity", "\x01Infinity"}, {"-Infinity", "\x01-Infinity"}}};
constexpr std::string_view kMark = "\"\\u0001";
constexpr int kParserDepth = 1024;  // simdjson's default

/// Replaces NaN, Infinity and -Infinity outside of strings by marked strings.
std::string with_marked_tokens(const std::string& text) {
  std::string result;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\' && i + 1 < text.size()) {
      result += c;
      result += text[++i];
      continue;
    }
    if (c == '"') in_string = !in_string;
    std::string_view token;
    for (const auto& [name, marked] : kTokens) {
      if (!in_string && text.compare(i, name.size(), name) == 0) token = name;
    }
    if (token.empty()) {
      result += c;
    } else {
      result += std::string(kMark) + std::string(token) + '"';
      i += token.size() - 1;
    }
  }
  return result;
}

/// Replaces marked strings by the tokens again.
std::string with_plain_tokens(const std::string& text) {
  std::string plain;
  size_t done = 0;  // end of the copied part
  for (size_t at = text.find(kMark); at != std::string::npos; at = text.find(kMark, done)) {
    const size_t begin = at + kMark.size();
    const size_t end = text.find('"', begin);
    const std::string_view token = std::string_view(text).substr(begin, end - begin);
    const bool known = token == "NaN" || token == "Infinity" || token == "-Infinity";
    plain.append(text, done, at - done);
    plain += known ? token : std::string_view(text).substr(at, end - at);
    done = known ? end + 1 : end;
  }
  return plain.append(text, done, std::string::npos);
}

/// Returns why a text is not JSON. If it is, sets `rounded` to the text with numbers beyond 64 bits
/// as floating point.
std::string reason_of(const std::string& text, std::string& rounded) {
  try {
    rounded = parse_foreign_json<nlohmann::ordered_json>(text).dump();
    return "";
  } catch (const nlohmann::json::exception& error) {
    // For example "[json.exception.parse_error.101] parse error at line 1, column 9: syntax error
    // ...".
    const std::string reason = error.what();
    const size_t column = reason.find("column ");
    return column == std::string::npos ? reason : reason.substr(column);
  }
}

void check_depth(simdjson::error_code code, const LineLocation& place) {
  if (code != simdjson::DEPTH_ERROR) return;
  throw files_errors::json(place.text(),
                           fmt::format("it is nested deeper than {} levels", kParserDepth));
}

}  // namespace

/// A value takes at least two bytes of text, and 60 bytes of memory. Shorter lines than
/// kLongLineBytes cannot have too many values, so they are not scanned.
constexpr JsonLimit kLineLimit{.any_values = 200'000, .bytes_per_value = 6, .depth = kParserDepth};
constexpr size_t kLongLineBytes = 2 * kLineLimit.any_values;

JsonValue parse_json_line(const std::string& text, const LineLocation& place) {
  if (text.size() > kLongLineBytes) {
    const auto refusal = json_refusal(text, kLineLimit, /*is_ordered=*/false);
    if (refusal) throw files_errors::json(place.text(), *refusal);
  }
  thread_local simdjson::dom::parser parser;
  JsonValue value;
  simdjson::error_code code = parser.parse(text).get(value);
  if (code == simdjson::SUCCESS) return value;
  check_depth(code, place);
  const std::string marked = with_marked_tokens(text);
  if (marked.size() != text.size()) code = parser.parse(marked).get(value);
  if (code == simdjson::SUCCESS) return value;
  check_depth(code, place);
  std::string rounded;
  const std::string reason = reason_of(marked.size() != text.size() ? marked : text, rounded);
  if (!reason.empty()) throw files_errors::json(place.text(), reason);
  code = parser.parse(rounded).get(value);
  if (code != simdjson::SUCCESS) {
    throw files_errors::json(place.text(), simdjson::error_message(code));
  }
  return value;
}

std::optional<double> json_number(JsonValue value) {
  double number = 0;
  if (value.get(number) == simdjson::SUCCESS) return number;
  std::string_view text;
  if (value.get(text) != simdjson::SUCCESS) return std::nullopt;
  if (text == kTokens[0].second) return std::numeric_limits<double>::quiet_NaN();
  if (text == kTokens[1].second) return std::numeric_limits<double>::infinity();
  if (text == kTokens[2].second) return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

std::string json_text(JsonValue value) {
  std::string text = simdjson::minify(value);
  return text.find(kMark) == std::string::npos ? text : with_plain_tokens(text);
}

}  // namespace s2s::data
