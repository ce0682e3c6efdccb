// Filters of texts, numbers and dicts.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "jinja/filters.h"
#include "jinja/runtime.h"
#include "jinja/text_builder.h"
#include "jinja/utf8_text.h"

namespace s2s::jinja {
namespace value_filters {
namespace {

/// Calls the text's method of that name as a filter.
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
/// Jinja's title: a word begins after white space or one of -({[<, and its other letters become
/// lower case.
Value title(const Value& input, const Arguments&) {
  return Value::of(with_case(with_case(to_text(input), Case::kLower), Case::kWords));
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
    const Values two = items_of(separators);
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
  charge(bytes.size() / 4);
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
  const MarkedText text = strip(*input.text(), Side::kBoth);
  const std::string& bytes = text.bytes();
  charge(bytes.size() / 4);
  char* end = nullptr;
  const double number = std::strtod(bytes.c_str(), &end);
  return !bytes.empty() && *end == '\0' ? Value::of(number) : fallback;
}

Value absolute(const Value& input, const Arguments&) {
  if (input.is<double>()) return Value::of(std::abs(input.number()));
  if (input.integer() == std::numeric_limits<int64_t>::min()) {
    throw TemplateError("a whole number becomes too large");
  }
  return Value::of(std::abs(input.integer()));
}

/// As Python's round: rounds the exact decimal value, halves to even; an integer stays one.
Value rounded(const Value& input, const Arguments& arguments) {
  const int64_t precision = arguments.get(0, "precision", Value::of(int64_t{0})).integer();
  const std::string method = to_text(arguments.get(1, "method", Value::of("common"))).bytes();
  const bool is_common = method != "ceil" && method != "floor";
  if (is_common && !input.is<double>() && precision >= 0) return Value::of(input.integer());
  constexpr size_t kRoundUnits = 150;  // for about a hundred digits
  charge(kRoundUnits);
  const double number = input.number();
  if (is_common && precision >= 0 && precision <= 100 && std::abs(number) < 1e100) {
    return Value::of(std::strtod(fmt::format("{:.{}f}", number, precision).c_str(), nullptr));
  }
  const double scale = std::pow(10.0, static_cast<double>(precision));
  const double scaled = number * scale;
  const double whole = (method == "ceil"    ? std::ceil(scaled)
                        : method == "floor" ? std::floor(scaled)
                                            : std::nearbyint(scaled)) /
                       scale;
  const bool is_whole = is_common && !input.is<double>() && std::abs(whole) < 9e18;
  return is_whole ? Value::of(static_cast<int64_t>(whole)) : Value::of(whole);
}

Value escape(const Value& input, const Arguments&) {
  TextBuilder out;
  const MarkedText text = to_text(input);
  for (const char c : text.bytes()) {
    constexpr std::string_view kPlain = "&<>'\"";
    constexpr std::array<std::string_view, 5> kEscapes = {"&amp;", "&lt;", "&gt;", "&#39;",
                                                          "&#34;"};
    const size_t at = kPlain.find(c);
    if (at == std::string_view::npos) {
      out += c;
    } else {
      out += kEscapes[at];
    }
  }
  return Value::of(out.take());
}

Value indent(const Value& input, const Arguments& arguments) {
  const Value width = arguments.get(0, "width", Value::of(int64_t{4}));
  const bool has_first = arguments.get(1, "first", Value::of(false)).is_true();
  const bool has_blank = arguments.get(2, "blank", Value::of(false)).is_true();
  const std::string space =
      width.is_text()
          ? width.text()->bytes()
          : std::string(static_cast<size_t>(std::clamp<int64_t>(width.integer(), 0, 1000)), ' ');
  MarkedText text = to_text(input);
  text.append("\n");  // as in Jinja, a line feed at the end begins another line
  const Value lines = call(method_of(Value::of(std::move(text)), "splitlines"), {});
  MarkedText out;
  bool is_first = true;
  for (const Value& line : lines.items()->items) {
    check_length(out.weight() + space.size() + line.text()->weight() + 1);
    if (!is_first) out.append("\n");
    if (is_first ? has_first : has_blank || line.is_true()) out.append(space);
    out.append(*line.text());
    is_first = false;
  }
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
  Values sorted = pairs.items()->items;
  const Held buffer(sorted.size() * sizeof(Value));  // memory of stable_sort
  std::stable_sort(sorted.begin(), sorted.end(), [&](const Value& a, const Value& b) {
    return reversed ? less(key(b), key(a)) : less(key(a), key(b));
  });
  return Value::list(std::move(sorted));
}

Value format(const Value& input, const Arguments& arguments) {
  return Value::of(percent_format(to_text(input).bytes(), Value::tuple(arguments.values)));
}

Value wordcount(const Value& input, const Arguments&) {
  return Value::of(num_words(to_text(input).bytes()));
}

Value attribute(const Value& input, const Arguments& arguments) {
  return attribute_of(input, arguments.require(0, "name").require_text().bytes());
}

Value centered(const Value& input, const Arguments& arguments) {
  const Value width = arguments.get(0, "width", Value::of(int64_t{80}));
  return call(method_of(Value::of(to_text(input)), "center"), Arguments{{width}, {}});
}

/// Returns at most `length` characters, and a few more if cutting would not make the text shorter.
Value truncated(const Value& input, const Arguments& arguments) {
  const int64_t wanted = arguments.get(0, "length", Value::of(int64_t{255})).integer();
  const bool in_words = arguments.get(1, "killwords", Value::of(false)).is_true();
  const MarkedText end = to_text(arguments.get(2, "end", Value::of("...")));
  const Value leeway = arguments.get(3, "leeway", Value::none());
  const auto end_size = static_cast<int64_t>(num_characters(end.bytes()));
  const int64_t more = leeway.is<None>() ? 5 : leeway.integer();
  if (wanted < end_size || more < 0 || more > (int64_t{1} << 40))
    throw TemplateError("truncate to less than its end");
  if (length(input, {}).integer() - more <= wanted) return input;
  const MarkedText text = to_text(input);
  const CharacterPlaces places = character_places(text.bytes());
  const auto kept = static_cast<size_t>(wanted - end_size);
  /// The text of a list may have another length.
  size_t cut = places[std::min(kept, places.size() - 1)];
  if (!in_words) {
    charge_bytes(cut);
    const size_t space = std::string_view(text.bytes()).substr(0, cut).rfind(' ');
    if (space != std::string_view::npos) cut = space;
  }
  MarkedText out = text.slice(0, cut);
  out.append(end);
  return Value::of(std::move(out));
}

constexpr std::array<NamedFilter, 28> kFilters = {{{"trim", trim},
                                                   {"upper", upper},
                                                   {"lower", lower},
                                                   {"replace", replace},
                                                   {"capitalize", capitalize},
                                                   {"title", title},
                                                   {"length", length},
                                                   {"count", length},
                                                   {"default", otherwise},
                                                   {"d", otherwise},
                                                   {"tojson", tojson},
                                                   {"string", as_string},
                                                   {"safe", as_string},
                                                   {"int", as_integer},
                                                   {"float", as_float},
                                                   {"abs", absolute},
                                                   {"round", rounded},
                                                   {"escape", escape},
                                                   {"e", escape},
                                                   {"forceescape", escape},
                                                   {"indent", indent},
                                                   {"items", items},
                                                   {"dictsort", dictsort},
                                                   {"format", format},
                                                   {"wordcount", wordcount},
                                                   {"attr", attribute},
                                                   {"center", centered},
                                                   {"truncate", truncated}}};

}  // namespace
}  // namespace value_filters

const NamedFilter* find_value_filter(std::string_view name) {
  const auto found = std::find_if(value_filters::kFilters.begin(), value_filters::kFilters.end(),
                                  [&](const NamedFilter& filter) { return filter.name == name; });
  return found == value_filters::kFilters.end() ? nullptr : &*found;
}

}  // namespace s2s::jinja
