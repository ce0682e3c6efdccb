#include "jinja/value.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace s2s::jinja {

Value Value::of(MarkedText text) {
  return Value(Data(std::shared_ptr<const MarkedText>(make_held<MarkedText>(std::move(text)))));
}

namespace {

/// The memory of a function. What it captures is on the heap, too.
struct HeldFunction {
  explicit HeldFunction(Function given) : held(sizeof(Function) + 64), call(std::move(given)) {}
  Held held;
  Function call;
};

}  // namespace

Value Value::of(Function function) {
  const auto owner = make_held<HeldFunction>(std::move(function));
  return Value(Data(std::shared_ptr<const Function>(owner, &owner->call)));
}

Value Value::undefined(std::string_view name) {
  constexpr size_t kMostBytes = 80;
  Undefined made;
  if (!name.empty()) made.name = make_held<MarkedText>(name.substr(0, kMostBytes));
  return Value(Data(std::move(made)));
}

const std::string& Value::undefined_name() const {
  static const std::string kNone;
  const auto* held = std::get_if<Undefined>(&data_);
  return held == nullptr || held->name == nullptr ? kNone : held->name->bytes();
}

void Extent::add(const Value& part) {
  constexpr int64_t kMostDepth = 200, kMostSize = 4'000'000;
  const Extent* inner = nullptr;
  if (const List* list = part.items()) inner = &list->extent;
  if (const Dict* dict = part.dict()) inner = &dict->extent;
  depth = std::max(depth, inner ? inner->depth + 1 : 1);
  constexpr size_t kUnitBytes = 32;
  const MarkedText* text = part.text();
  size += inner ? inner->size : 1 + static_cast<int64_t>(text ? text->weight() / kUnitBytes : 0);
  const bool is_namespace = part.dict() != nullptr && part.dict()->is_namespace;
  has_namespace = has_namespace || is_namespace || (inner && inner->has_namespace);
  has_function = has_function || part.function() != nullptr || (inner && inner->has_function);
  if (depth > kMostDepth) throw TemplateError("a value is nested deeper than 200 levels");
  if (size > kMostSize) throw TemplateError("a value becomes too large");
}

Value Value::of(Dict members) {
  charge(1 + members.members.size() / 4);
  members.extent = {};
  for (const auto& [key, value] : members.members) members.extent.add(value);
  return Value(Data(make_held<Dict>(std::move(members))));
}

Value Value::list(Values items) {
  charge(1 + items.size() / 4);
  List list{std::move(items), false};
  for (const Value& item : list.items) list.extent.add(item);
  return Value(Data(make_held<List>(std::move(list))));
}

Value Value::tuple(Values items) {
  Value made = list(std::move(items));
  made.items()->is_tuple = true;
  return made;
}

const MarkedText* Value::text() const {
  const auto* held = std::get_if<std::shared_ptr<const MarkedText>>(&data_);
  return held == nullptr ? nullptr : held->get();
}

List* Value::items() const {
  const auto* held = std::get_if<std::shared_ptr<List>>(&data_);
  return held == nullptr ? nullptr : held->get();
}

Dict* Value::dict() const {
  const auto* held = std::get_if<std::shared_ptr<Dict>>(&data_);
  return held == nullptr ? nullptr : held->get();
}

const Function* Value::function() const {
  const auto* held = std::get_if<std::shared_ptr<const Function>>(&data_);
  return held == nullptr ? nullptr : held->get();
}

bool Value::is_true() const {
  if (is_number()) return number() != 0;
  if (const MarkedText* held = text()) return held->size() > 0;
  if (const List* held = items()) return !held->items.empty();
  if (const Dict* held = dict()) return held->is_namespace || !held->members.empty();
  return function() != nullptr;
}

std::string Value::type_name() const {
  if (is<Undefined>()) return "undefined";
  if (is<None>()) return "NoneType";
  if (is<bool>()) return "bool";
  if (is<int64_t>()) return "int";
  if (is<double>()) return "float";
  if (is_text()) return "str";
  if (const List* held = items()) return held->is_tuple ? "tuple" : "list";
  if (const Dict* held = dict()) return held->is_namespace ? "Namespace" : "dict";
  return "function";
}

namespace {

[[noreturn]] void wrong_type(const Value& value, const char* expected) {
  if (value.is_undefined()) {
    throw TemplateError("'" + value.undefined_name() + "' is undefined");
  }
  throw TemplateError("expected " + std::string(expected) + ", found " + value.type_name());
}

}  // namespace

int64_t Value::integer() const {
  if (const bool* flag = std::get_if<bool>(&data_)) return *flag ? 1 : 0;
  const int64_t* number = std::get_if<int64_t>(&data_);
  if (number == nullptr) wrong_type(*this, "an integer");
  return *number;
}

double Value::number() const {
  if (const double* number = std::get_if<double>(&data_)) return *number;
  if (!is_number()) wrong_type(*this, "a number");
  return static_cast<double>(integer());
}

const MarkedText& Value::require_text() const {
  const MarkedText* held = text();
  if (held == nullptr) wrong_type(*this, "a string");
  return *held;
}

const Value* Arguments::find(size_t index, std::string_view name) const {
  if (index < values.size()) return &values[index];
  charge(1 + named.size());
  for (const auto& [given, value] : named) {
    if (given == name) return &value;
  }
  return nullptr;
}

Value Arguments::get(size_t index, std::string_view name, Value otherwise) const {
  const Value* found = find(index, name);
  return found == nullptr ? std::move(otherwise) : *found;
}

const Value& Arguments::require(size_t index, std::string_view name) const {
  const Value* found = find(index, name);
  if (found == nullptr) throw TemplateError("missing argument '" + std::string(name) + "'");
  return *found;
}

namespace {

bool equal_texts(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return false;
  charge(a.size() / 64);
  return a == b;
}

bool equal_dicts(const Dict& a, const Dict& b) {
  if (a.members.size() != b.members.size()) return false;
  return std::all_of(a.members.begin(), a.members.end(), [&](const auto& member) {
    const Value* other = b.find(member.first);
    return other != nullptr && equal(member.second, *other);
  });
}

bool equal_numbers(const Value& a, const Value& b) {
  if (!a.is<double>() && !b.is<double>()) return a.integer() == b.integer();
  return a.number() == b.number();
}

}  // namespace

bool equal(const Value& a, const Value& b) {
  charge();
  if (a.is_number() && b.is_number()) return equal_numbers(a, b);
  if (a.text() && b.text()) return equal_texts(a.text()->bytes(), b.text()->bytes());
  if (a.items() && b.items()) {
    return a.items()->is_tuple == b.items()->is_tuple &&
           std::equal(a.items()->items.begin(), a.items()->items.end(), b.items()->items.begin(),
                      b.items()->items.end(), equal);
  }
  if (a.dict() && b.dict()) {
    const bool is_identity = a.dict()->is_namespace || b.dict()->is_namespace;
    return a.dict() == b.dict() || (!is_identity && equal_dicts(*a.dict(), *b.dict()));
  }
  if (a.function() || b.function()) return a.function() == b.function();
  return a.data().index() == b.data().index();  // none, undefined
}

bool less(const Value& a, const Value& b) {
  charge();
  if (a.is_number() && b.is_number()) return a.number() < b.number();
  if (a.text() && b.text()) {
    charge(std::min(a.text()->size(), b.text()->size()) / 64);
    return a.text()->bytes() < b.text()->bytes();
  }
  if (a.items() && b.items()) {
    const Values &x = a.items()->items, &y = b.items()->items;
    const auto [first, second] = std::mismatch(x.begin(), x.end(), y.begin(), y.end(), equal);
    if (first == x.end() || second == y.end()) return first == x.end() && second != y.end();
    return less(*first, *second);
  }
  throw TemplateError("'<' is not supported between " + a.type_name() + " and " + b.type_name());
}

}  // namespace s2s::jinja
