// Filters of lists.

#include <algorithm>
#include <array>
#include <utility>

#include "jinja/filters.h"
#include "jinja/runtime.h"
#include "jinja/utf8_text.h"

namespace s2s::jinja {
namespace list_filters {
namespace {

/// Returns item.a.b for a dotted name, or item[number].
Value dotted(Value item, const Value& path) {
  if (!path.is_text()) return item_of(item, path);
  const Value parts = call(method_of(path, "split"), Arguments{{Value::of(".")}, {}});
  for (const Value& part : parts.items()->items) {
    const std::string& name = part.text()->bytes();
    const bool is_number =
        !name.empty() && name.size() < 10 && name.find_first_not_of("0123456789") == name.npos;
    if (item.is_undefined()) return item;
    item = item_of(item, is_number ? Value::of(int64_t{std::stol(name)}) : part);
  }
  return item;
}

/// Texts are compared without case.
Value sort_key(const Value& item, const Value& attribute, bool by_case) {
  const auto cased = [&](const Value& part) {
    return part.is_text() && !by_case ? Value::of(with_case(*part.text(), Case::kLower)) : part;
  };
  return cased(attribute.is<None>() ? item : dotted(item, attribute));
}

/// Returns the key of `sort` for several attributes ("age,name"): a list, whose equal elements
/// decide nothing.
Value order_key(const Value& item, const Value& attribute, bool by_case) {
  if (!attribute.is_text()) return Value::list({sort_key(item, attribute, by_case)});
  Values parts;
  const Value names = call(method_of(attribute, "split"), Arguments{{Value::of(",")}, {}});
  for (const Value& name : names.items()->items) parts.push_back(sort_key(item, name, by_case));
  return Value::list(std::move(parts));
}

Value join(const Value& input, const Arguments& arguments) {
  const MarkedText separator = to_text(arguments.get(0, "d", Value::of("")));
  const Value attribute = arguments.get(1, "attribute", Value::none());
  MarkedText out;
  bool is_first = true;
  for (const Value& item : items_of(input)) {
    if (!is_first) out.append(separator);
    is_first = false;
    const MarkedText part = to_text(attribute.is<None>() ? item : dotted(item, attribute));
    check_length(out.weight() + part.weight());
    out.append(part);
  }
  return Value::of(std::move(out));
}

Value first(const Value& input, const Arguments&) {
  if (const List* list = input.items()) {
    return list->items.empty() ? Value::undefined("first") : list->items.front();
  }
  const Values items = items_of(input);
  return items.empty() ? Value::undefined("first") : items.front();
}
Value last(const Value& input, const Arguments&) {
  if (const List* list = input.items()) {
    return list->items.empty() ? Value::undefined("last") : list->items.back();
  }
  const Values items = items_of(input);
  return items.empty() ? Value::undefined("last") : items.back();
}
Value as_list(const Value& input, const Arguments&) { return Value::list(items_of(input)); }

Value reversed(const Value& input, const Arguments&) {
  Values items = items_of(input);
  std::reverse(items.begin(), items.end());
  if (!input.is_text()) return Value::list(std::move(items));
  return join(Value::list(std::move(items)), {});
}

Value sorted(const Value& input, const Arguments& arguments) {
  const bool is_reversed = arguments.get(0, "reverse", Value::of(false)).is_true();
  const bool by_case = arguments.get(1, "case_sensitive", Value::of(false)).is_true();
  const Value attribute = arguments.get(2, "attribute", Value::none());
  Values items = items_of(input);
  const Held buffer(items.size() * sizeof(std::pair<Value, Value>));  // memory of stable_sort
  Members keyed;
  keyed.reserve(items.size());
  for (Value& item : items) {
    Value key = order_key(item, attribute, by_case);
    keyed.emplace_back(std::move(key), std::move(item));
  }
  std::stable_sort(keyed.begin(), keyed.end(), [&](const auto& a, const auto& b) {
    return is_reversed ? less(b.first, a.first) : less(a.first, b.first);
  });
  items.clear();
  for (auto& [key, item] : keyed) items.push_back(std::move(item));
  return Value::list(std::move(items));
}

/// Returns lists of items with equal attributes, sorted by it, as tuples of the attribute and the
/// list.
Value grouped(const Value& input, const Arguments& arguments) {
  const Value attribute = arguments.require(0, "attribute");
  const Value otherwise = arguments.get(1, "default", Value());
  const bool by_case = arguments.get(2, "case_sensitive", Value::of(false)).is_true();
  const auto part_of = [&](const Value& item) {
    const Value part = dotted(item, attribute);
    return part.is_undefined() ? otherwise : part;
  };
  const auto key_of = [&](const Value& part) { return sort_key(part, Value::none(), by_case); };
  Values items = items_of(input);
  const Held buffer(items.size() * sizeof(Value));  // memory of stable_sort
  std::stable_sort(items.begin(), items.end(), [&](const Value& a, const Value& b) {
    const Value x = key_of(part_of(a)), y = key_of(part_of(b));
    return !equal(x, y) && less(x, y);
  });
  Values groups;
  for (size_t begin = 0, end = 0; begin < items.size(); begin = end) {
    const Value name = part_of(items[begin]);
    Values same;
    for (; end < items.size() && equal(key_of(part_of(items[end])), key_of(name)); ++end) {
      same.push_back(items[end]);
    }
    if (same.empty()) same.push_back(items[end++]);  // a NaN is not equal to itself
    groups.push_back(Value::tuple({name, Value::list(std::move(same))}));
  }
  return Value::list(std::move(groups));
}

/// Splits into columns whose lengths differ by at most one.
Value sliced(const Value& input, const Arguments& arguments) {
  const int64_t count = arguments.require(0, "slices").integer();
  const Value* fill = arguments.find(1, "fill_with");
  if (count < 1 || count > 100000) throw TemplateError("slice needs 1 to 100000 slices");
  const Values items = items_of(input);
  const auto size = static_cast<int64_t>(items.size());
  Values columns;
  columns.reserve(static_cast<size_t>(count));
  auto next = items.begin();
  for (int64_t i = 0; i < count; ++i) {
    const bool is_longer = i < size % count;
    const auto end = next + size / count + (is_longer ? 1 : 0);
    Values column(next, end);
    if (fill != nullptr && !fill->is<None>() && !is_longer) {
      column.push_back(*fill);
    }
    columns.push_back(Value::list(std::move(column)));
    next = end;
  }
  return Value::list(std::move(columns));
}

Value unique(const Value& input, const Arguments& arguments) {
  const bool by_case = arguments.get(0, "case_sensitive", Value::of(false)).is_true();
  const Value attribute = arguments.get(1, "attribute", Value::none());
  Values kept;
  Dict keys;  // a set; its values have no meaning
  for (const Value& item : items_of(input)) {
    Value key = sort_key(item, attribute, by_case);
    if (keys.find(key) != nullptr) continue;
    keys.add_new(std::move(key), Value::none());
    kept.push_back(item);
  }
  return Value::list(std::move(kept));
}

Value extreme(const Value& input, const Arguments& arguments, bool is_max) {
  const bool by_case = arguments.get(0, "case_sensitive", Value::of(false)).is_true();
  const Value attribute = arguments.get(1, "attribute", Value::none());
  const Values items = items_of(input);
  if (items.empty()) return Value::undefined(is_max ? "max" : "min");
  const auto order = [&](const Value& a, const Value& b) {
    return less(sort_key(a, attribute, by_case), sort_key(b, attribute, by_case));
  };
  return is_max ? *std::max_element(items.begin(), items.end(), order)
                : *std::min_element(items.begin(), items.end(), order);
}
Value smallest(const Value& input, const Arguments& a) { return extreme(input, a, false); }
Value largest(const Value& input, const Arguments& a) { return extreme(input, a, true); }

Value sum(const Value& input, const Arguments& arguments) {
  const Value attribute = arguments.get(0, "attribute", Value::none());
  const Value start = arguments.get(1, "start", Value::of(int64_t{0}));
  bool is_whole = !start.is<double>();
  int64_t whole = is_whole ? start.integer() : 0;
  double total = start.number();
  for (const Value& item : items_of(input)) {
    charge();
    const Value part = attribute.is<None>() ? item : dotted(item, attribute);
    is_whole = is_whole && !part.is<double>();
    if (is_whole && __builtin_add_overflow(whole, part.integer(), &whole)) {
      throw TemplateError("a whole number becomes too large");
    }
    total += part.number();
  }
  return is_whole ? Value::of(whole) : Value::of(total);
}

Arguments without(const Arguments& arguments, size_t count) {
  Arguments rest = arguments;
  const size_t dropped = std::min(count, rest.values.size());
  rest.values.erase(rest.values.begin(),
                    rest.values.begin() + static_cast<std::ptrdiff_t>(dropped));
  return rest;
}

/// Returns the items for which a test of the item, or of one of its attributes, gives `wanted`.
Value chosen(const Value& input, const Arguments& arguments, bool by_attribute, bool wanted) {
  const size_t place = by_attribute ? 1 : 0;
  const bool has_test = arguments.values.size() > place;
  const std::string test = has_test ? arguments.values[place].require_text().bytes() : "";
  const Arguments rest = without(arguments, place + 1);
  Values kept;
  if (!input.is_true()) return Value::list({});
  for (const Value& item : items_of(input)) {
    charge();
    const Value part = by_attribute ? dotted(item, arguments.require(0, "attribute")) : item;
    const bool holds = has_test ? apply_test(test, part, rest) : part.is_true();
    if (holds == wanted) kept.push_back(item);
  }
  return Value::list(std::move(kept));
}
Value select(const Value& input, const Arguments& a) { return chosen(input, a, false, true); }
Value reject(const Value& input, const Arguments& a) { return chosen(input, a, false, false); }
Value selectattr(const Value& input, const Arguments& a) { return chosen(input, a, true, true); }
Value rejectattr(const Value& input, const Arguments& a) { return chosen(input, a, true, false); }

Value mapped(const Value& input, const Arguments& arguments) {
  Values made;
  if (!input.is_true()) return Value::list({});
  const Value* attribute = arguments.values.empty() ? arguments.find(0, "attribute") : nullptr;
  const Value otherwise = arguments.values.empty() ? arguments.get(1, "default", Value()) : Value();
  for (const Value& item : items_of(input)) {
    charge();
    if (attribute != nullptr) {
      const Value part = dotted(item, *attribute);
      made.push_back(part.is_undefined() ? otherwise : part);
    } else {
      const std::string& name = arguments.require(0, "filter").require_text().bytes();
      made.push_back(apply_filter(name, item, without(arguments, 1)));
    }
  }
  return Value::list(std::move(made));
}

Value batch(const Value& input, const Arguments& arguments) {
  const int64_t size = arguments.require(0, "linecount").integer();
  if (size < 1) throw TemplateError("batches need at least one item");
  Values batches, open;
  for (const Value& item : items_of(input)) {
    charge();
    open.push_back(item);
    if (static_cast<int64_t>(open.size()) < size) continue;
    batches.push_back(Value::list(std::exchange(open, {})));
  }
  const Value* fill = arguments.find(1, "fill_with");
  const bool is_filled = fill != nullptr && !fill->is<None>();
  while (is_filled && !open.empty() && static_cast<int64_t>(open.size()) < size) {
    check_count(open.size());
    open.push_back(*fill);
  }
  if (!open.empty()) batches.push_back(Value::list(std::move(open)));
  return Value::list(std::move(batches));
}

constexpr std::array<NamedFilter, 18> kFilters = {{{"join", join},
                                                   {"first", first},
                                                   {"last", last},
                                                   {"list", as_list},
                                                   {"reverse", reversed},
                                                   {"sort", sorted},
                                                   {"unique", unique},
                                                   {"min", smallest},
                                                   {"max", largest},
                                                   {"sum", sum},
                                                   {"select", select},
                                                   {"reject", reject},
                                                   {"selectattr", selectattr},
                                                   {"rejectattr", rejectattr},
                                                   {"map", mapped},
                                                   {"batch", batch},
                                                   {"groupby", grouped},
                                                   {"slice", sliced}}};

}  // namespace
}  // namespace list_filters

const NamedFilter* find_list_filter(std::string_view name) {
  const auto found = std::find_if(list_filters::kFilters.begin(), list_filters::kFilters.end(),
                                  [&](const NamedFilter& filter) { return filter.name == name; });
  return found == list_filters::kFilters.end() ? nullptr : &*found;
}

bool has_filter(std::string_view name) {
  return find_value_filter(name) != nullptr || find_list_filter(name) != nullptr;
}

Value apply_filter(const std::string& name, const Value& input, const Arguments& arguments) {
  const NamedFilter* filter = find_value_filter(name);
  charge();
  if (filter == nullptr) filter = find_list_filter(name);
  if (filter == nullptr) throw TemplateError("no filter named '" + name + "'");
  return filter->apply(input, arguments);
}

}  // namespace s2s::jinja
