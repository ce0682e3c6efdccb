// Filters of texts, numbers and dicts.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "jinja/filters.h"
#include "jinja/runtime.h"
#include "jinja/utf8_text.h"

namespace s2s::jinja {
namespace value_filters {
namespace {

/// The method of a text as a filter.
Value through_method(const char* name, const Value& input, const Arguments& arguments) {
  return call(method_of(Value::of(to_text(input)), name), arguments);
}

Value trim(const Value& input, const Arguments& a) { return through_method("strip", input, a); }
Value upper(const Value& input, const Arguments& a) { return through_method("upper", input, a); }
Value lower(const Value& input, const Arguments& a) { return through_method("lower", input, a); }
Value replace(const Value& input, const Arguments& a) {
  return through_method("replace", input, a);
}
Value capitalize(const Value& input, const Arguments& a) {
  return through_method("capitalize", input, a);
}
/// Jinja's: other letters become small.
Value title(const Value& input, const Arguments&) {
  return Value::of(with_case(with_case(to_text(input), Case::kLower), Case::kTitle));
}

Value length(const Value& input, const Arguments&) {
  if (input.is_undefined()) return Value::of(int64_t{0});
  if (const MarkedText* text = input.text()) return Value::of(num_characters(text->bytes()));
  if (const List* list = input.items()) return Value::of(list->items.size());
  if (input.dict() == nullptr) throw TemplateError(input.type_name() + " has no length");
  return Value::of(input.dict()->members.size());
}

Value otherwise(const Value& input, const Arguments& arguments) {
  const bool by_truth = arguments.get(1, "boolean", Value::of(false)).is_true();
  const bool is_missing = by_truth ? !input.is_true() : input.is_undefined();
  return is_missing ? arguments.get(0, "default_value", Value::of("")) : input;
}

Value tojson(const Value& input, const Arguments& arguments) {
  JsonStyle style;
  style.ascii_only = arguments.get(0, "ensure_ascii", Value::of(false)).is_true();
  const Value indent = arguments.get(1, "indent", Value::none());
  if (!indent.is<None>()) {
    style.indent = std::clamp<int64_t>(indent.integer(), 0, 64);
    style.item_separator = ",";
  }
  const Value separators = arguments.get(2, "separators", Value::none());
  if (!separators.is<None>()) {
    const std::vector<Value> two = items_of(separators);
    if (two.size() != 2) throw TemplateError("separators of tojson are two strings");
    style.item_separator = two[0].require_text().bytes();
    style.key_separator = two[1].require_text().bytes();
  }
  style.sort_keys = arguments.get(3, "sort_keys", Value::of(false)).is_true();
  return Value::of(to_json(input, style));
}

Value as_string(const Value& input, const Arguments&) { return Value::of(to_text(input)); }

Value as_integer(const Value& input, const Arguments& arguments) {
  const Value fallback = arguments.get(0, "default", Value::of(int64_t{0}));
  if (input.is<double>()) {
    const bool fits = std::abs(input.number()) < 9e18;
    return fits ? Value::of(static_cast<int64_t>(input.number())) : fallback;
  }
  if (input.is_number()) return Value::of(input.integer());
  if (!input.is_text()) return fallback;
  const MarkedText text = strip(*input.text(), Side::kBoth);
  const std::string& bytes = text.bytes();
  char* end = nullptr;
  const double number = std::strtod(bytes.c_str(), &end);
  const bool is_number = !bytes.empty() && *end == '\0' && std::abs(number) < 9e18;
  int64_t whole = 0;
  const auto read = std::from_chars(bytes.data(), bytes.data() + bytes.size(), whole);
  if (is_number && read.ec == std::errc() && read.ptr == bytes.data() + bytes.size()) {
    return Value::of(whole);
  }
  return is_number ? Value::of(static_cast<int64_t>(number)) : fallback;
}

Value as_float(const Value& input, const Arguments& arguments) {
  const Value fallback = arguments.get(0, "default", Value::of(0.0));
  if (input.is_number()) return Value::of(input.number());
  if (!input.is_text()) return fallback;
  const std::string bytes = strip(*input.text(), Side::kBoth).bytes();
  char* end = nullptr;
  const double number = std::strtod(bytes.c_str(), &end);
  return !bytes.empty() && *end == '\0' ? Value::of(number) : fallback;
}

Value absolute(const Value& input, const Arguments&) {
  if (input.is<double>()) return Value::of(std::abs(input.number()));
  return Value::of(input.integer() < 0 ? -input.integer() : input.integer());
}

/// Halves to even, as Python's round.
Value rounded(const Value& input, const Arguments& arguments) {
  const int64_t precision = arguments.get(0, "precision", Value::of(int64_t{0})).integer();
  const std::string method = to_text(arguments.get(1, "method", Value::of("common"))).bytes();
  const double scale = std::pow(10.0, static_cast<double>(precision));
  const double scaled = input.number() * scale;
  const double whole = method == "ceil"    ? std::ceil(scaled)
                       : method == "floor" ? std::floor(scaled)
                                           : std::nearbyint(scaled);
  return Value::of(whole / scale);
}

Value escape(const Value& input, const Arguments&) {
  std::string out;
  const MarkedText text = to_text(input);
  for (const char c : text.bytes()) {
    constexpr std::string_view kPlain = "&<>'\"";
    constexpr std::array<std::string_view, 5> kEscapes = {"&amp;", "&lt;", "&gt;", "&#39;",
                                                          "&#34;"};
    const size_t at = kPlain.find(c);
    out += at == std::string_view::npos ? std::string(1, c) : std::string(kEscapes[at]);
  }
  return Value::of(std::move(out));
}

Value indent(const Value& input, const Arguments& arguments) {
  const Value width = arguments.get(0, "width", Value::of(int64_t{4}));
  const bool has_first = arguments.get(1, "first", Value::of(false)).is_true();
  const bool has_blank = arguments.get(2, "blank", Value::of(false)).is_true();
  const std::string space =
      width.is_text()
          ? width.text()->bytes()
          : std::string(static_cast<size_t>(std::clamp<int64_t>(width.integer(), 0, 1000)), ' ');
  const MarkedText text = to_text(input);
  MarkedText out;
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.bytes().find('\n', begin), text.size());
    const bool is_wanted = begin == 0 ? has_first : has_blank || end > begin;
    if (is_wanted) out.append(space);
    out.append(text.slice(begin, std::min(end + 1, text.size())));
    begin = end + 1;
  }
  check_length(out.size());
  return Value::of(std::move(out));
}

Value items(const Value& input, const Arguments&) {
  if (input.is_undefined()) return Value::list({});
  if (input.dict() == nullptr) throw TemplateError("'items' needs a dict");
  return call(method_of(input, "items"), {});
}

Value dictsort(const Value& input, const Arguments& arguments) {
  const bool by_case = arguments.get(0, "case_sensitive", Value::of(false)).is_true();
  const bool by_value = to_text(arguments.get(1, "by", Value::of("key"))).bytes() == "value";
  const bool reversed = arguments.get(2, "reverse", Value::of(false)).is_true();
  const Value pairs = items(input, {});
  const auto key = [&](const Value& pair) {
    const Value& part = pair.items()->items[by_value ? 1 : 0];
    return part.is_text() && !by_case ? Value::of(with_case(*part.text(), Case::kLower)) : part;
  };
  std::vector<Value> sorted = pairs.items()->items;
  std::stable_sort(sorted.begin(), sorted.end(), [&](const Value& a, const Value& b) {
    return reversed ? less(key(b), key(a)) : less(key(a), key(b));
  });
  return Value::list(std::move(sorted));
}

Value format(const Value& input, const Arguments& arguments) {
  return Value::of(percent_format(to_text(input).bytes(), Value::tuple(arguments.values)));
}

Value wordcount(const Value& input, const Arguments&) {
  return length(call(method_of(Value::of(to_text(input)), "split"), {}), {});
}

constexpr std::array<NamedFilter, 25> kFilters = {
    {{"trim", trim},          {"upper", upper},           {"lower", lower},
     {"replace", replace},    {"capitalize", capitalize}, {"title", title},
     {"length", length},      {"count", length},          {"default", otherwise},
     {"d", otherwise},        {"tojson", tojson},         {"string", as_string},
     {"safe", as_string},     {"int", as_integer},        {"float", as_float},
     {"abs", absolute},       {"round", rounded},         {"escape", escape},
     {"e", escape},           {"forceescape", escape},    {"indent", indent},
     {"items", items},        {"dictsort", dictsort},     {"format", format},
     {"wordcount", wordcount}}};

}  // namespace
}  // namespace value_filters

const NamedFilter* find_value_filter(std::string_view name) {
  const auto found = std::find_if(value_filters::kFilters.begin(), value_filters::kFilters.end(),
                                  [&](const NamedFilter& filter) { return filter.name == name; });
  return found == value_filters::kFilters.end() ? nullptr : &*found;
}

}  // namespace s2s::jinja
