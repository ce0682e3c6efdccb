// Methods of Python's str, dict and list that templates call.

#include <algorithm>
#include <array>
#include <utility>

#include "jinja/runtime.h"
#include "jinja/text_builder.h"
#include "jinja/text_search.h"
#include "jinja/utf8_text.h"

namespace s2s::jinja {
namespace methods {
namespace {

using Method = Value (*)(const Value& self, const Arguments& arguments);
struct NamedMethod {
  std::string_view name;
  Method method;
};

const MarkedText& text_of(const Value& self) { return *self.text(); }

Value stripped(const Value& self, const Arguments& arguments, Side side) {
  const Value chars = arguments.get(0, "chars", Value::none());
  if (chars.is<None>()) return Value::of(strip(text_of(self), side));
  return Value::of(strip(text_of(self), side, &chars.require_text().bytes()));
}
Value strip_both(const Value& self, const Arguments& a) { return stripped(self, a, Side::kBoth); }
Value strip_left(const Value& self, const Arguments& a) { return stripped(self, a, Side::kLeft); }
Value strip_right(const Value& self, const Arguments& a) { return stripped(self, a, Side::kRight); }

Value to_upper(const Value& self, const Arguments&) {
  return Value::of(with_case(text_of(self), Case::kUpper));
}
Value to_lower(const Value& self, const Arguments&) {
  return Value::of(with_case(text_of(self), Case::kLower));
}
Value to_title(const Value& self, const Arguments&) {
  return Value::of(with_case(text_of(self), Case::kTitle));
}
Value to_capitalized(const Value& self, const Arguments&) {
  return Value::of(with_case(with_case(text_of(self), Case::kLower), Case::kCapitalized));
}

Value join(const Value& self, const Arguments& arguments) {
  MarkedText out;
  bool is_first = true;
  for (const Value& item : items_of(arguments.require(0, "iterable"))) {
    if (!is_first) out.append(text_of(self));
    is_first = false;
    check_length(out.weight() + item.require_text().weight());
    out.append(item.require_text());
  }
  return Value::of(std::move(out));
}

Value remove_prefix(const Value& self, const Arguments& arguments) {
  const MarkedText& text = text_of(self);
  const std::string& prefix = arguments.require(0, "prefix").require_text().bytes();
  return Value::of(text.slice(text.bytes().starts_with(prefix) ? prefix.size() : 0, text.size()));
}
Value remove_suffix(const Value& self, const Arguments& arguments) {
  const MarkedText& text = text_of(self);
  const std::string& suffix = arguments.require(0, "suffix").require_text().bytes();
  return Value::of(
      text.slice(0, text.size() - (text.bytes().ends_with(suffix) ? suffix.size() : 0)));
}

template <CharacterKind kind>
Value consists_of(const Value& self, const Arguments&) {
  return Value::of(is_all(text_of(self).bytes(), kind));
}
Value is_lower(const Value& self, const Arguments&) {
  return Value::of(has_only_case(text_of(self).bytes(), Case::kLower));
}
Value is_upper(const Value& self, const Arguments&) {
  return Value::of(has_only_case(text_of(self).bytes(), Case::kUpper));
}
Value swap_case(const Value& self, const Arguments&) {
  return Value::of(with_case(text_of(self), Case::kSwapped));
}

/// Fills a text on the left and on the right up to a width.
Value filled(const Value& self, const Arguments& arguments, double left_share) {
  constexpr int64_t kMostWidth = 1 << 20;
  const std::string fill = arguments.get(1, "fillchar", Value::of(" ")).require_text().bytes();
  if (num_characters(fill) != 1) throw TemplateError("the fill is not one character");
  const int64_t width = std::min(arguments.require(0, "width").integer(), kMostWidth);
  const int64_t missing =
      std::max<int64_t>(width - static_cast<int64_t>(num_characters(text_of(self).bytes())), 0);
  // As in Python's center, the extra character of an odd width is on the left.
  const int64_t left = left_share == 0.5 ? missing / 2 + (missing & width & 1)
                                         : static_cast<int64_t>(left_share) * missing;
  const auto repeated = [&](int64_t count) {
    TextBuilder out;
    for (int64_t i = 0; i < count; ++i) out += fill;
    return MarkedText(out.take());
  };
  MarkedText out = repeated(left);
  out.append(text_of(self));
  out.append(repeated(missing - left));
  return Value::of(std::move(out));
}
Value centered(const Value& self, const Arguments& a) { return filled(self, a, 0.5); }
Value fill_right(const Value& self, const Arguments& a) { return filled(self, a, 0); }
Value fill_left(const Value& self, const Arguments& a) { return filled(self, a, 1); }
/// Inserts zeros after the sign.
Value fill_zeros(const Value& self, const Arguments& arguments) {
  const MarkedText& text = text_of(self);
  const bool has_sign = text.bytes().starts_with('-') || text.bytes().starts_with('+');
  const size_t sign = has_sign ? 1 : 0;
  const Value width =
      Value::of(arguments.require(0, "width").integer() - static_cast<int64_t>(sign));
  MarkedText out = text.slice(0, sign);
  const Value rest = Value::of(text.slice(sign, text.size()));
  out.append(*fill_left(rest, Arguments{{width, Value::of("0")}, {}}).text());
  return Value::of(std::move(out));
}

/// "{} {0} {name}".format(...)
Value format(const Value& self, const Arguments& arguments) {
  const MarkedText& pattern = text_of(self);
  const std::string& bytes = pattern.bytes();
  Walk walk;
  MarkedText out;
  size_t next = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    walk.step();
    const bool is_brace = bytes[i] == '{' || bytes[i] == '}';
    if (!is_brace || (i + 1 < bytes.size() && bytes[i + 1] == bytes[i])) {
      out.append(pattern.slice(i, i + 1));
      if (is_brace) ++i;
      continue;
    }
    const size_t end = bytes.find('}', i);
    if (bytes[i] == '}' || end == std::string::npos)
      throw TemplateError("unpaired brace in format");
    const std::string name = bytes.substr(i + 1, end - i - 1);
    const bool is_place = name.find_first_not_of("0123456789") == std::string::npos;
    if (name.size() > 6) throw TemplateError("unsupported field of format");
    const size_t place = name.empty() ? next++ : is_place ? std::stoul(name) : ~size_t{0};
    const MarkedText given = to_text(arguments.require(place, name));
    check_length(out.weight() + given.weight());
    out.append(given);
    i = end;
  }
  return Value::of(std::move(out));
}

Value dict_items(const Value& self, const Arguments&) {
  Values items;
  items.reserve(self.dict()->members.size());
  for (const auto& [key, value] : self.dict()->members) items.push_back(Value::tuple({key, value}));
  return Value::list(std::move(items));
}
Value dict_keys(const Value& self, const Arguments&) { return Value::list(items_of(self)); }
Value dict_values(const Value& self, const Arguments&) {
  Values values;
  values.reserve(self.dict()->members.size());
  for (const auto& [key, value] : self.dict()->members) values.push_back(value);
  return Value::list(std::move(values));
}
Value dict_get(const Value& self, const Arguments& arguments) {
  const Value* found = self.dict()->find(arguments.require(0, "key"));
  return found ? *found : arguments.get(1, "default", Value::none());
}
Value dict_copy(const Value& self, const Arguments&) { return Value::of(Dict(*self.dict())); }

Value list_index(const Value& self, const Arguments& arguments) {
  const Values& items = self.items()->items;
  const auto found = std::find_if(items.begin(), items.end(), [&](const Value& item) {
    return equal(item, arguments.require(0, "value"));
  });
  if (found == items.end()) throw TemplateError("the value is not in the list");
  return Value::of(static_cast<int64_t>(found - items.begin()));
}
Value list_count(const Value& self, const Arguments& arguments) {
  const Values& items = self.items()->items;
  return Value::of(
      static_cast<int64_t>(std::count_if(items.begin(), items.end(), [&](const Value& item) {
        return equal(item, arguments.require(0, "value"));
      })));
}
Value list_copy(const Value& self, const Arguments&) { return Value::list(self.items()->items); }

constexpr std::array<NamedMethod, 39> kTextMethods = {{{"strip", strip_both},
                                                       {"lstrip", strip_left},
                                                       {"rstrip", strip_right},
                                                       {"upper", to_upper},
                                                       {"lower", to_lower},
                                                       {"title", to_title},
                                                       {"capitalize", to_capitalized},
                                                       {"startswith", starts_with},
                                                       {"endswith", ends_with},
                                                       {"split", split},
                                                       {"rsplit", split_from_right},
                                                       {"splitlines", split_lines},
                                                       {"replace", replace},
                                                       {"find", find},
                                                       {"rfind", find_right},
                                                       {"index", text_index},
                                                       {"count", count_text},
                                                       {"join", join},
                                                       {"removeprefix", remove_prefix},
                                                       {"removesuffix", remove_suffix},
                                                       {"rindex", text_index_right},
                                                       {"partition", partition},
                                                       {"rpartition", partition_right},
                                                       {"isdigit", consists_of<kDigits>},
                                                       {"isnumeric", consists_of<kDigits>},
                                                       {"isdecimal", consists_of<kDigits>},
                                                       {"isalpha", consists_of<kLetters>},
                                                       {"isalnum", consists_of<kWords>},
                                                       {"isspace", consists_of<kSpaces>},
                                                       {"isascii", consists_of<kAscii>},
                                                       {"islower", is_lower},
                                                       {"isupper", is_upper},
                                                       {"swapcase", swap_case},
                                                       {"casefold", to_lower},
                                                       {"center", centered},
                                                       {"ljust", fill_right},
                                                       {"rjust", fill_left},
                                                       {"zfill", fill_zeros},
                                                       {"format", format}}};
constexpr std::array<NamedMethod, 5> kDictMethods = {{{"items", dict_items},
                                                      {"keys", dict_keys},
                                                      {"values", dict_values},
                                                      {"get", dict_get},
                                                      {"copy", dict_copy}}};
constexpr std::array<NamedMethod, 3> kListMethods = {
    {{"index", list_index}, {"count", list_count}, {"copy", list_copy}}};

template <size_t N>
Value bound(const std::array<NamedMethod, N>& methods, const Value& self, std::string_view name) {
  for (const NamedMethod& candidate : methods) {
    if (candidate.name != name) continue;
    const List* list = self.items();
    const Dict* dict = self.dict();
    // A function that captures functions could contain itself, so they would never be freed.
    if ((list && list->extent.has_function) || (dict && dict->extent.has_function)) {
      throw TemplateError("'" + std::string(name) + "' of a value that holds functions");
    }
    return Value::of(Function([self, method = candidate.method](const Arguments& arguments) {
      return method(self, arguments);
    }));
  }
  return Value::undefined(name);
}

}  // namespace
}  // namespace methods

Value method_of(const Value& object, std::string_view name) {
  if (object.is_text()) return methods::bound(methods::kTextMethods, object, name);
  if (object.dict() != nullptr && !object.dict()->is_namespace) {
    return methods::bound(methods::kDictMethods, object, name);
  }
  if (object.items() != nullptr) return methods::bound(methods::kListMethods, object, name);
  return Value::undefined(name);
}

}  // namespace s2s::jinja
