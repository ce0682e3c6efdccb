// Methods of Python's str, dict and list that templates call.

#include <algorithm>
#include <array>
#include <utility>

#include "jinja/runtime.h"
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

/// True when `has` is true of one of the texts (a string or a tuple of them).
template <class Has>
Value any_text(const Value& texts, Has has) {
  if (texts.is_text()) return Value::of(has(texts.text()->bytes()));
  const std::vector<Value> items = items_of(texts);
  return Value::of(std::any_of(items.begin(), items.end(), [&](const Value& item) {
    return has(item.require_text().bytes());
  }));
}
Value starts_with(const Value& self, const Arguments& arguments) {
  const std::string& text = text_of(self).bytes();
  return any_text(arguments.require(0, "prefix"),
                  [&](const std::string& prefix) { return text.starts_with(prefix); });
}
Value ends_with(const Value& self, const Arguments& arguments) {
  const std::string& text = text_of(self).bytes();
  return any_text(arguments.require(0, "suffix"),
                  [&](const std::string& suffix) { return text.ends_with(suffix); });
}

/// At white space; at most `limit` times when it is not negative.
std::vector<Value> split_at_space(const MarkedText& text, int64_t limit) {
  std::vector<Value> parts;
  MarkedText rest = strip(text, Side::kLeft);
  while (rest.size() > 0) {
    const std::vector<size_t> places = character_places(rest.bytes());
    size_t end = 0;
    while (end + 1 < places.size() &&
           strip(rest.slice(places[end], places[end + 1]), Side::kBoth).size() > 0) {
      ++end;
    }
    const bool is_last = limit >= 0 && static_cast<int64_t>(parts.size()) == limit;
    if (is_last) {
      parts.push_back(Value::of(strip(rest, Side::kRight)));
      break;
    }
    parts.push_back(Value::of(rest.slice(0, places[end])));
    rest = strip(rest.slice(places[end], rest.size()), Side::kLeft);
  }
  return parts;
}

std::vector<Value> split_at(const MarkedText& text, const std::string& separator, int64_t limit) {
  if (separator.empty()) throw TemplateError("the separator of a split is empty");
  std::vector<Value> parts;
  size_t begin = 0;
  while (limit < 0 || static_cast<int64_t>(parts.size()) < limit) {
    const size_t found = text.bytes().find(separator, begin);
    if (found == std::string::npos) break;
    parts.push_back(Value::of(text.slice(begin, found)));
    begin = found + separator.size();
  }
  parts.push_back(Value::of(text.slice(begin, text.size())));
  return parts;
}

Value split(const Value& self, const Arguments& arguments) {
  const Value separator = arguments.get(0, "sep", Value::none());
  const int64_t limit = arguments.get(1, "maxsplit", Value::of(int64_t{-1})).integer();
  if (separator.is<None>()) return Value::list(split_at_space(text_of(self), limit));
  return Value::list(split_at(text_of(self), separator.require_text().bytes(), limit));
}

Value split_from_right(const Value& self, const Arguments& arguments) {
  const int64_t limit = arguments.get(1, "maxsplit", Value::of(int64_t{-1})).integer();
  if (limit < 0) return split(self, arguments);
  const std::string& separator = arguments.require(0, "sep").require_text().bytes();
  if (separator.empty()) throw TemplateError("the separator of a split is empty");
  const MarkedText& text = text_of(self);
  std::vector<Value> parts;
  size_t end = text.size();
  while (static_cast<int64_t>(parts.size()) < limit && end >= separator.size()) {
    const size_t found = text.bytes().rfind(separator, end - separator.size());
    if (found == std::string::npos) break;
    parts.push_back(Value::of(text.slice(found + separator.size(), end)));
    end = found;
  }
  parts.push_back(Value::of(text.slice(0, end)));
  std::reverse(parts.begin(), parts.end());
  return Value::list(std::move(parts));
}

Value split_lines(const Value& self, const Arguments&) {
  const MarkedText& text = text_of(self);
  std::vector<Value> parts = split_at(text, "\n", -1);
  if (text.size() == 0 || text.bytes().back() == '\n') parts.pop_back();
  return Value::list(std::move(parts));
}

Value replace(const Value& self, const Arguments& arguments) {
  const std::string& old = arguments.require(0, "old").require_text().bytes();
  const MarkedText& fresh = arguments.require(1, "new").require_text();
  const int64_t limit = arguments.get(2, "count", Value::of(int64_t{-1})).integer();
  if (old.empty()) throw TemplateError("replace of an empty string");
  const std::vector<Value> parts = split_at(text_of(self), old, limit);
  check_length(text_of(self).size() + parts.size() * fresh.size());
  MarkedText out;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out.append(fresh);
    out.append(*parts[i].text());
  }
  return Value::of(std::move(out));
}

/// -1 when it is not there.
int64_t find_in(const Value& self, const Arguments& arguments, bool from_right) {
  const std::string& text = text_of(self).bytes();
  const std::string& part = arguments.require(0, "sub").require_text().bytes();
  const size_t found = from_right ? text.rfind(part) : text.find(part);
  if (found == std::string::npos) return -1;
  return static_cast<int64_t>(num_characters(std::string_view(text).substr(0, found)));
}
Value find(const Value& self, const Arguments& a) { return Value::of(find_in(self, a, false)); }
Value find_right(const Value& self, const Arguments& a) {
  return Value::of(find_in(self, a, true));
}
Value text_index(const Value& self, const Arguments& arguments) {
  const int64_t found = find_in(self, arguments, false);
  if (found < 0) throw TemplateError("substring not found");
  return Value::of(found);
}
Value count_text(const Value& self, const Arguments& arguments) {
  const std::string& part = arguments.require(0, "sub").require_text().bytes();
  return Value::of(split_at(text_of(self), part, -1).size() - 1);
}

Value join(const Value& self, const Arguments& arguments) {
  MarkedText out;
  bool is_first = true;
  for (const Value& item : items_of(arguments.require(0, "iterable"))) {
    if (!is_first) out.append(text_of(self));
    is_first = false;
    out.append(item.require_text());
    check_length(out.size());
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

Value is_digits(const Value& self, const Arguments&) {
  const std::string& text = text_of(self).bytes();
  return Value::of(!text.empty() && std::all_of(text.begin(), text.end(),
                                                [](char c) { return c >= '0' && c <= '9'; }));
}
Value is_spaces(const Value& self, const Arguments&) {
  return Value::of(text_of(self).size() > 0 && strip(text_of(self), Side::kBoth).size() == 0);
}

/// "{} {0} {name}".format(...)
Value format(const Value& self, const Arguments& arguments) {
  const MarkedText& pattern = text_of(self);
  const std::string& bytes = pattern.bytes();
  MarkedText out;
  size_t next = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
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
    out.append(to_text(arguments.require(place, name)));
    check_length(out.size());
    i = end;
  }
  return Value::of(std::move(out));
}

Value dict_items(const Value& self, const Arguments&) {
  std::vector<Value> items;
  for (const auto& [key, value] : self.dict()->members) items.push_back(Value::tuple({key, value}));
  return Value::list(std::move(items));
}
Value dict_keys(const Value& self, const Arguments&) { return Value::list(items_of(self)); }
Value dict_values(const Value& self, const Arguments&) {
  std::vector<Value> values;
  for (const auto& [key, value] : self.dict()->members) values.push_back(value);
  return Value::list(std::move(values));
}
Value dict_get(const Value& self, const Arguments& arguments) {
  const Value* found = self.dict()->find(arguments.require(0, "key"));
  return found ? *found : arguments.get(1, "default", Value::none());
}
Value dict_copy(const Value& self, const Arguments&) { return Value::of(Dict(*self.dict())); }

Value list_index(const Value& self, const Arguments& arguments) {
  const std::vector<Value>& items = self.items()->items;
  const auto found = std::find_if(items.begin(), items.end(), [&](const Value& item) {
    return equal(item, arguments.require(0, "value"));
  });
  if (found == items.end()) throw TemplateError("the value is not in the list");
  return Value::of(static_cast<int64_t>(found - items.begin()));
}
Value list_count(const Value& self, const Arguments& arguments) {
  const std::vector<Value>& items = self.items()->items;
  return Value::of(
      static_cast<int64_t>(std::count_if(items.begin(), items.end(), [&](const Value& item) {
        return equal(item, arguments.require(0, "value"));
      })));
}
Value list_copy(const Value& self, const Arguments&) { return Value::list(self.items()->items); }

constexpr std::array<NamedMethod, 24> kTextMethods = {{{"strip", strip_both},
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
                                                       {"isdigit", is_digits},
                                                       {"isnumeric", is_digits},
                                                       {"isspace", is_spaces},
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
    return Value::of(Function([self, method = candidate.method](const Arguments& arguments) {
      return method(self, arguments);
    }));
  }
  return Value::undefined(std::string(name));
}

}  // namespace
}  // namespace methods

Value method_of(const Value& object, std::string_view name) {
  if (object.is_text()) return methods::bound(methods::kTextMethods, object, name);
  if (object.dict() != nullptr && !object.dict()->is_namespace) {
    return methods::bound(methods::kDictMethods, object, name);
  }
  if (object.items() != nullptr) return methods::bound(methods::kListMethods, object, name);
  return Value::undefined(std::string(name));
}

}  // namespace s2s::jinja
