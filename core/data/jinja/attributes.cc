// Evaluates object.name, object[key], `item in all`, and calls.

#include <algorithm>
#include <utility>

#include "base/utf8_reader.h"
#include "jinja/runtime.h"
#include "jinja/substring.h"
#include "jinja/utf8_text.h"

namespace s2s::jinja {
namespace {

[[noreturn]] void no_attributes(const Value& object, const std::string& name) {
  const std::string& owner = object.undefined_name();
  throw TemplateError("'" + (owner.empty() ? "the value" : owner) + "' is undefined, and has no '" +
                      name + "'");
}

Value nth(const Value& object, int64_t place) {
  if (const List* list = object.items()) {
    const auto size = static_cast<int64_t>(list->items.size());
    if (place < 0) place += size;
    const bool exists = place >= 0 && place < size;
    return exists ? list->items[static_cast<size_t>(place)] : Value::undefined("item");
  }
  const std::string_view bytes = object.text()->bytes();
  const auto distance = static_cast<size_t>(place < 0 ? -(place + 1) : place);
  charge(std::min(bytes.size(), distance) / 4);
  std::string_view rest = bytes;
  if (place < 0) {
    for (; place < -1 && !rest.empty(); ++place) rest.remove_suffix(last_character(rest).size());
    if (rest.empty()) return Value::undefined("item");
    const size_t size = last_character(rest).size();
    return Value::of(object.text()->slice(rest.size() - size, rest.size()));
  }
  for (; place > 0 && !rest.empty(); --place) rest.remove_prefix(first_character(rest).num_bytes);
  if (rest.empty()) return Value::undefined("item");
  const size_t at = bytes.size() - rest.size();
  return Value::of(object.text()->slice(at, at + first_character(rest).num_bytes));
}

/// Returns object[key] without attributes.
const Value* member(const Value& object, const Value& key) {
  return object.dict() == nullptr ? nullptr : object.dict()->find(key);
}

}  // namespace

Value attribute_of(const Value& object, const std::string& name) {
  if (object.is_undefined()) no_attributes(object, name);
  const Dict* dict = object.dict();
  if (dict == nullptr || !dict->is_namespace) {
    Value method = method_of(object, name);
    if (!method.is_undefined()) return method;
  }
  if (dict != nullptr) {
    if (const Value* found = dict->find(std::string_view(name))) return *found;
  }
  return Value::undefined(name);
}

Value item_of(const Value& object, const Value& key) {
  if (object.is_undefined()) no_attributes(object, to_text(key).bytes());
  if (const Value* found = member(object, key)) return *found;
  const bool has_places = object.items() != nullptr || object.is_text();
  if (has_places && (key.is<int64_t>() || key.is<bool>())) return nth(object, key.integer());
  return key.is_text() ? method_of(object, key.text()->bytes()) : Value::undefined("item");
}

Values items_of(const Value& value) {
  if (value.is_undefined()) return {};
  if (const List* list = value.items()) return list->items;
  Values items;
  if (const Dict* dict = value.dict()) {
    items.reserve(dict->members.size());
    for (const auto& [key, held] : dict->members) items.push_back(key);
    return items;
  }
  const MarkedText* text = value.text();
  if (text == nullptr) throw TemplateError("cannot iterate over " + value.type_name());
  check_count(num_characters(text->bytes()));
  const CharacterPlaces places = character_places(text->bytes());
  for (size_t i = 0; i + 1 < places.size(); ++i) {
    items.push_back(Value::of(text->slice(places[i], places[i + 1])));
  }
  return items;
}

bool is_in(const Value& item, const Value& all) {
  if (const MarkedText* text = all.text()) {
    return find_part(text->bytes(), item.require_text().bytes()) != std::string::npos;
  }
  if (const Dict* dict = all.dict()) return dict->find(item) != nullptr;
  if (all.is_undefined()) return false;
  if (const List* list = all.items()) {
    return std::any_of(list->items.begin(), list->items.end(),
                       [&](const Value& other) { return equal(item, other); });
  }
  throw TemplateError("'in' is not supported for " + all.type_name());
}

Value call(const Value& function, const Arguments& arguments) {
  if (function.is_undefined()) {
    throw TemplateError("'" + function.undefined_name() + "' is undefined");
  }
  if (function.function() == nullptr) throw TemplateError(function.type_name() + " is no function");
  return (*function.function())(arguments);
}

}  // namespace s2s::jinja
