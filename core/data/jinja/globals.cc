// Functions that are available to every template.

#include <array>
#include <ctime>

#include "jinja/runtime.h"

namespace s2s::jinja {
namespace {

/// The limit of Jinja's sandbox.
constexpr int64_t kMostRange = 100000;

Value range(const Arguments& arguments) {
  int64_t begin = 0, end = arguments.require(0, "stop").integer(), step = 1;
  if (arguments.values.size() > 1) {
    begin = end;
    end = arguments.values[1].integer();
  }
  if (arguments.values.size() > 2) step = arguments.values[2].integer();
  if (step == 0) throw TemplateError("the step of a range is 0");
  Values items;
  for (int64_t i = begin; step > 0 ? i < end : i > end;) {
    if (static_cast<int64_t>(items.size()) == kMostRange) {
      throw TemplateError("a range has more than 100000 numbers");
    }
    items.push_back(Value::of(i));
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  return Value::list(std::move(items));
}

Dict dict_of(const Arguments& arguments) {
  Dict made;
  for (const Value& value : arguments.values) {
    if (value.dict() == nullptr) throw TemplateError("expected a dict");
    for (const auto& [key, held] : value.dict()->members) {
      charge();
      made.set(key, held);
    }
  }
  for (const auto& [name, value] : arguments.named) made.set(Value::of(name), value);
  return made;
}

Value make_dict(const Arguments& arguments) { return Value::of(dict_of(arguments)); }

Value make_namespace(const Arguments& arguments) {
  Dict made = dict_of(arguments);
  made.is_namespace = true;
  return Value::of(std::move(made));
}

Value raise_exception(const Arguments& arguments) {
  throw TemplateError::raised(to_text(arguments.require(0, "message")).bytes());
}

Value strftime_now(const Arguments& arguments) {
  const std::string& format = arguments.require(0, "format").require_text().bytes();
  charge(1 + format.size() / 4);
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  std::array<char, 256> text{};
  const size_t size = std::strftime(text.data(), text.size(), format.c_str(), &parts);
  return Value::of(std::string(text.data(), size));
}

/// joiner(sep) returns nothing at its first call and the separator afterwards.
Value joiner(const Arguments& arguments) {
  const Value separator = Value::of(to_text(arguments.get(0, "sep", Value::of(", "))));
  return Value::of(Function([separator, is_used = std::make_shared<bool>()](const Arguments&) {
    const bool was_used = *is_used;
    *is_used = true;
    return was_used ? separator : Value::of("");
  }));
}

}  // namespace

void set_globals(Scope& scope) {
  scope.set("range", Value::of(Function(range)));
  scope.set("dict", Value::of(Function(make_dict)));
  scope.set("namespace", Value::of(Function(make_namespace)));
  scope.set("raise_exception", Value::of(Function(raise_exception)));
  scope.set("strftime_now", Value::of(Function(strftime_now)));
  scope.set("joiner", Value::of(Function(joiner)));
}

}  // namespace s2s::jinja
