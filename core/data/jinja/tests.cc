// Evaluates tests: `value is name`.

#include <algorithm>
#include <array>

#include "jinja/runtime.h"
#include "jinja/utf8_text.h"

namespace s2s::jinja {
namespace tests {
namespace {

using Judge = bool (*)(const Value& value, const Arguments& arguments);
struct NamedTest {
  std::string_view name;
  Judge judge;
};

const Value& other(const Arguments& arguments) { return arguments.require(0, "other"); }

bool is_defined(const Value& v, const Arguments&) { return !v.is_undefined(); }
bool is_undefined(const Value& v, const Arguments&) { return v.is_undefined(); }
bool is_none(const Value& v, const Arguments&) { return v.is<None>(); }
bool is_string(const Value& v, const Arguments&) { return v.is_text(); }
bool is_number(const Value& v, const Arguments&) { return v.is_number(); }
bool is_integer(const Value& v, const Arguments&) { return v.is<int64_t>(); }
bool is_float(const Value& v, const Arguments&) { return v.is<double>(); }
bool is_boolean(const Value& v, const Arguments&) { return v.is<bool>(); }
bool is_true(const Value& v, const Arguments&) { return v.is<bool>() && v.is_true(); }
bool is_false(const Value& v, const Arguments&) { return v.is<bool>() && !v.is_true(); }
bool is_mapping(const Value& v, const Arguments&) { return v.dict() && !v.dict()->is_namespace; }
bool is_sequence(const Value& v, const Arguments&) {
  return v.is_text() || v.items() || v.dict() || v.is_undefined();
}
bool is_iterable(const Value& v, const Arguments& a) { return is_sequence(v, a); }
bool is_callable(const Value& v, const Arguments&) { return v.function() != nullptr; }
bool is_equal(const Value& v, const Arguments& a) { return equal(v, other(a)); }
bool is_unequal(const Value& v, const Arguments& a) { return !equal(v, other(a)); }
bool is_less(const Value& v, const Arguments& a) { return less(v, other(a)); }
bool is_greater(const Value& v, const Arguments& a) { return less(other(a), v); }
bool is_at_most(const Value& v, const Arguments& a) { return !less(other(a), v); }
bool is_at_least(const Value& v, const Arguments& a) { return !less(v, other(a)); }
bool is_inside(const Value& v, const Arguments& a) { return is_in(v, other(a)); }
bool is_odd(const Value& v, const Arguments&) { return v.integer() % 2 != 0; }
bool is_even(const Value& v, const Arguments&) { return v.integer() % 2 == 0; }
bool is_divisible(const Value& v, const Arguments& a) {
  if (other(a).integer() == 0) throw TemplateError("division by zero");
  return other(a).integer() == -1 || v.integer() % other(a).integer() == 0;
}
bool is_lower(const Value& v, const Arguments&) {
  const MarkedText text = to_text(v);
  const std::string upper = with_case(text, Case::kUpper).bytes();
  return text.bytes() != upper && with_case(text, Case::kLower).bytes() == text.bytes();
}
bool is_upper(const Value& v, const Arguments&) {
  const MarkedText text = to_text(v);
  const std::string lower = with_case(text, Case::kLower).bytes();
  return text.bytes() != lower && with_case(text, Case::kUpper).bytes() == text.bytes();
}
bool is_same(const Value& v, const Arguments& a) {
  return v.data().index() == other(a).data().index() && equal(v, other(a));
}
bool is_escaped(const Value&, const Arguments&) { return false; }
bool is_filter(const Value& v, const Arguments&) {
  return v.is_text() && has_filter(v.text()->bytes());
}
bool is_test(const Value& v, const Arguments&) {
  return v.is_text() && has_test(v.text()->bytes());
}

constexpr std::array<NamedTest, 39> kTests = {
    {{"defined", is_defined},   {"undefined", is_undefined}, {"none", is_none},
     {"string", is_string},     {"number", is_number},       {"integer", is_integer},
     {"float", is_float},       {"boolean", is_boolean},     {"true", is_true},
     {"false", is_false},       {"mapping", is_mapping},     {"sequence", is_sequence},
     {"iterable", is_iterable}, {"callable", is_callable},   {"equalto", is_equal},
     {"eq", is_equal},          {"ne", is_unequal},          {"lessthan", is_less},
     {"lt", is_less},           {"greaterthan", is_greater}, {"gt", is_greater},
     {"le", is_at_most},        {"ge", is_at_least},         {"in", is_inside},
     {"odd", is_odd},           {"even", is_even},           {"divisibleby", is_divisible},
     {"lower", is_lower},       {"upper", is_upper},         {"sameas", is_same},
     {"escaped", is_escaped},   {"filter", is_filter},       {"test", is_test},
     {"==", is_equal},          {"!=", is_unequal},          {"<", is_less},
     {">", is_greater},         {"<=", is_at_most},          {">=", is_at_least}}};

const NamedTest* find_test(std::string_view name) {
  const auto found = std::find_if(kTests.begin(), kTests.end(),
                                  [&](const NamedTest& test) { return test.name == name; });
  return found == kTests.end() ? nullptr : &*found;
}

}  // namespace
}  // namespace tests

bool has_test(std::string_view name) { return tests::find_test(name) != nullptr; }

bool apply_test(const std::string& name, const Value& input, const Arguments& arguments) {
  const tests::NamedTest* test = tests::find_test(name);
  if (test == nullptr) throw TemplateError("no test named '" + name + "'");
  charge();
  return test->judge(input, arguments);
}

}  // namespace s2s::jinja
