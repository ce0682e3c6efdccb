// Evaluates expressions.

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "jinja/runtime.h"
#include "jinja/utf8_text.h"

namespace s2s::jinja {
namespace {

[[noreturn]] void unsupported(const std::string& sign, const Value& a, const Value& b) {
  for (const Value* value : {&a, &b}) {
    if (value->is_undefined()) value->number();  // throws with the name that is undefined
  }
  throw TemplateError("'" + sign + "' is not supported between " + a.type_name() + " and " +
                      b.type_name());
}

Value concatenated(const MarkedText& a, const MarkedText& b) {
  check_length(a.weight() + b.weight());
  MarkedText joined;
  joined.reserve(a.weight() + b.weight());
  joined.append(a);
  joined.append(b);
  return Value::of(std::move(joined));
}

Value repeated(const MarkedText& text, int64_t count) {
  MarkedText out;
  if (count > 0) {
    const size_t size = text.weight() * static_cast<size_t>(std::min(count, int64_t{1} << 31));
    check_length(size);
    out.reserve(size);
  }
  const size_t whole = text.size() * static_cast<size_t>(std::max<int64_t>(count, 0));
  if (text.marks().empty()) {
    while (out.size() < whole) {  // doubles the text each time
      const size_t more = std::min(std::max(out.size(), text.size()), whole - out.size());
      const std::string_view made = out.size() == 0 ? text.bytes() : out.bytes();
      out.append(made.substr(0, more));
    }
    return Value::of(std::move(out));
  }
  for (int64_t i = 0; i < count && text.size() > 0; ++i) out.append(text);
  return Value::of(std::move(out));
}

int64_t checked(const std::string& sign, int64_t a, int64_t b) {
  int64_t result = 0;
  const bool overflows = sign == "+"   ? __builtin_add_overflow(a, b, &result)
                         : sign == "-" ? __builtin_sub_overflow(a, b, &result)
                                       : __builtin_mul_overflow(a, b, &result);
  if (overflows) throw TemplateError("a whole number becomes too large");
  return result;
}

/// Rounds toward minus infinity, as Python does.
int64_t floor_divide(int64_t a, int64_t b) {
  if (a == std::numeric_limits<int64_t>::min() && b == -1) {
    throw TemplateError("a whole number becomes too large");
  }
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

Value power(const Value& a, const Value& b) {
  if (a.is<double>() || b.is<double>() || b.integer() < 0) {
    return Value::of(std::pow(a.number(), b.number()));
  }
  int64_t result = 1, square = a.integer();
  for (int64_t rest = b.integer(); rest > 0;) {
    if (rest % 2 == 1) result = checked("*", result, square);
    rest /= 2;
    if (rest > 0) square = checked("*", square, square);
  }
  return Value::of(result);
}

Value divide(const std::string& sign, const Value& a, const Value& b) {
  if (b.number() == 0) throw TemplateError("division by zero");
  if (sign == "/") return Value::of(a.number() / b.number());
  if (!a.is<double>() && !b.is<double>()) {
    const int64_t quotient = floor_divide(a.integer(), b.integer());
    return Value::of(sign == "//" ? quotient : a.integer() - quotient * b.integer());
  }
  const double quotient = std::floor(a.number() / b.number());
  return Value::of(sign == "//" ? quotient : a.number() - quotient * b.number());
}

Value arithmetic(const std::string& sign, const Value& a, const Value& b) {
  if (sign == "**") return power(a, b);
  if (sign == "/" || sign == "//" || sign == "%") return divide(sign, a, b);
  if (!a.is<double>() && !b.is<double>()) {
    return Value::of(checked(sign, a.integer(), b.integer()));
  }
  const double x = a.number(), y = b.number();
  return Value::of(sign == "+" ? x + y : sign == "-" ? x - y : x * y);
}

Value added_lists(const List& a, const List& b) {
  Values items;
  items.reserve(a.items.size() + b.items.size());
  items.insert(items.end(), a.items.begin(), a.items.end());
  items.insert(items.end(), b.items.begin(), b.items.end());
  return a.is_tuple ? Value::tuple(std::move(items)) : Value::list(std::move(items));
}

Value repeated_list(const List& list, int64_t count) {
  Values items;
  for (int64_t i = 0; i < count && !list.items.empty(); ++i) {
    charge();
    check_count(items.size() + list.items.size());
    items.insert(items.end(), list.items.begin(), list.items.end());
  }
  return list.is_tuple ? Value::tuple(std::move(items)) : Value::list(std::move(items));
}

Value operate(const std::string& sign, const Value& a, const Value& b) {
  if (sign == "~") return concatenated(to_text(a), to_text(b));
  if (a.is_number() && b.is_number()) return arithmetic(sign, a, b);
  if (sign == "+" && a.text() && b.text()) return concatenated(*a.text(), *b.text());
  if (sign == "+" && a.items() && b.items() && a.items()->is_tuple == b.items()->is_tuple) {
    return added_lists(*a.items(), *b.items());
  }
  if (sign == "*" && a.text() && b.is_number()) return repeated(*a.text(), b.integer());
  if (sign == "*" && b.text() && a.is_number()) return repeated(*b.text(), a.integer());
  if (sign == "*" && a.items() && b.is_number()) return repeated_list(*a.items(), b.integer());
  if (sign == "*" && b.items() && a.is_number()) return repeated_list(*b.items(), a.integer());
  if (sign == "%" && a.text()) return Value::of(percent_format(a.text()->bytes(), b));
  unsupported(sign, a, b);
}

bool compare(const std::string& sign, const Value& a, const Value& b) {
  if (sign == "==") return equal(a, b);
  if (sign == "!=") return !equal(a, b);
  if (sign == "in") return is_in(a, b);
  if (sign == "not in") return !is_in(a, b);
  const bool has_order =
      (a.is_number() && b.is_number()) || (a.text() && b.text()) || (a.items() && b.items());
  if (!has_order) unsupported(sign, a, b);
  if (sign == "<") return less(a, b);
  if (sign == ">") return less(b, a);
  return less(a, b) || less(b, a) ? (sign == "<=") == less(a, b) : equal(a, b);
}

/// Returns a bound of a slice as Python's slice.indices does.
int64_t bound(const ExpressionPtr& part, Runtime& run, int64_t size, bool is_backward,
              int64_t otherwise) {
  const Value value = part ? part->value(run) : Value::none();
  if (value.is<None>()) return otherwise;
  int64_t place = value.integer();
  if (place < 0) place += size;
  return is_backward ? std::clamp<int64_t>(place, -1, size - 1)
                     : std::clamp<int64_t>(place, 0, size);
}

}  // namespace

Value Expression::value(Runtime& run) const {
  const Runtime::Depth depth(run);
  return evaluate(run);
}

Value Name::evaluate(Runtime& run) const { return run.find(name); }

Value ListDisplay::evaluate(Runtime& run) const {
  Values values;
  values.reserve(items.size());
  for (const auto& item : items) values.push_back(item->value(run));
  return is_tuple ? Value::tuple(std::move(values)) : Value::list(std::move(values));
}

Value DictDisplay::evaluate(Runtime& run) const {
  Dict dict;
  for (const auto& [key, member] : members) dict.set(key->value(run), member->value(run));
  return Value::of(std::move(dict));
}

Value Attribute::evaluate(Runtime& run) const { return attribute_of(object->value(run), name); }

Value Item::evaluate(Runtime& run) const {
  const Value owner = object->value(run);
  return item_of(owner, key->value(run));
}

Value Slice::evaluate(Runtime& run) const {
  const Value whole = object->value(run);
  const Value every = step ? step->value(run) : Value::none();
  constexpr int64_t kMostStride = int64_t{1} << 40;  // longer strides give the same result
  const int64_t stride =
      every.is<None>() ? 1 : std::clamp(every.integer(), -kMostStride, kMostStride);
  if (stride == 0) throw TemplateError("the step of a slice is 0");
  const bool is_backward = stride < 0;
  const MarkedText* text = whole.text();
  if (text == nullptr && whole.items() == nullptr) {
    throw TemplateError("cannot slice " + whole.type_name());
  }
  const CharacterPlaces places = text ? character_places(text->bytes()) : CharacterPlaces();
  const auto size = static_cast<int64_t>(text ? places.size() - 1 : whole.items()->items.size());
  const int64_t first = bound(begin, run, size, is_backward, is_backward ? size - 1 : 0);
  const int64_t last = bound(end, run, size, is_backward, is_backward ? -1 : size);
  if (text && stride == 1) {
    const auto from = static_cast<size_t>(first), to = static_cast<size_t>(std::max(first, last));
    return Value::of(text->slice(places[from], places[to]));
  }
  MarkedText part;
  Values items;
  for (int64_t i = first; is_backward ? i > last : i < last; i += stride) {
    const auto at = static_cast<size_t>(i);
    if (text) {
      part.append(text->slice(places[at], places[at + 1]));
    } else {
      items.push_back(whole.items()->items[at]);
    }
  }
  if (text) return Value::of(std::move(part));
  return whole.items()->is_tuple ? Value::tuple(std::move(items)) : Value::list(std::move(items));
}

Arguments CallArguments::evaluate(Runtime& run) const {
  Arguments found;
  for (const auto& value : values) found.values.push_back(value->value(run));
  if (rest) {
    for (const Value& value : items_of(rest->value(run))) found.values.push_back(value);
  }
  for (const auto& [name, value] : named) found.named.emplace_back(name, value->value(run));
  if (!named_rest) return found;
  const Value more = named_rest->value(run);
  if (more.dict() == nullptr) throw TemplateError("expected a dict after '**'");
  for (const auto& [name, value] : more.dict()->members) {
    found.held.add(name.require_text().size());
    found.named.emplace_back(name.require_text().bytes(), value);
  }
  return found;
}

Value Call::evaluate(Runtime& run) const {
  const Value callee = function->value(run);
  const Arguments given = arguments.evaluate(run);
  const auto* name = dynamic_cast<const Name*>(function.get());
  const bool is_loop = name != nullptr && name->name == "loop";
  return call(is_loop ? run.find("__loop__") : callee, given);
}

Value Filter::evaluate(Runtime& run) const {
  const Value given = input->value(run);
  return apply_filter(name, given, arguments.evaluate(run));
}

Value Test::evaluate(Runtime& run) const {
  const Value given = input->value(run);
  return Value::of(apply_test(name, given, arguments.evaluate(run)) != is_negated);
}

Value Unary::evaluate(Runtime& run) const {
  const Value held = operand->value(run);
  if (sign == "not") return Value::of(!held.is_true());
  if (held.is<double>()) return Value::of(sign == "-" ? -held.number() : held.number());
  return Value::of(sign == "-" ? checked("-", 0, held.integer()) : held.integer());
}

Value Binary::evaluate(Runtime& run) const {
  Value first = left->value(run);
  if (sign == "and") return first.is_true() ? right->value(run) : first;
  if (sign == "or") return first.is_true() ? first : right->value(run);
  return operate(sign, first, right->value(run));
}

Value Comparison::evaluate(Runtime& run) const {
  Value left = first->value(run);
  for (const auto& [sign, other] : others) {
    Value right = other->value(run);
    if (!compare(sign, left, right)) return Value::of(false);
    left = std::move(right);
  }
  return Value::of(true);
}

Value Conditional::evaluate(Runtime& run) const {
  if (condition->value(run).is_true()) return then->value(run);
  return otherwise ? otherwise->value(run) : Value();
}

}  // namespace s2s::jinja
