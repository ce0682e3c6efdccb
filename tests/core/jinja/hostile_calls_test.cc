// Each filter, method, test and operator with large values, again and again.

#include <string>
#include <vector>

#include "core/jinja/hostile_templates.h"
#include "jinja/runtime.h"

namespace s2s::test {
namespace {

/// Expressions that are separated by " ; " and line ends.
std::vector<std::string> listed_in(std::string text) {
  std::vector<std::string> all;
  for (size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n')) {
    text.replace(at, 1, " ; ");
  }
  size_t begin = 0;
  for (size_t end = text.find(" ; "); end != std::string::npos; end = text.find(" ; ", begin)) {
    if (end > begin) all.push_back(text.substr(begin, end - begin));
    begin = end + 3;
  }
  return all;
}

/// `expression` about b (a long text, a long list, a dict with many members), many times.
std::vector<std::string> many_times(const std::string& expression) {
  const std::string loop =
      "{% for i in range(99999) %}{% set c = " + expression + " %}{% endfor %}";
  return {"{% set b = 'a b' * 900000 %}" + loop, "{% set b = range(99999) | list %}" + loop,
          "{% set b = {'k': 1, 'l': [1] * 9999, 'm': 'q' * 99999} %}" + loop};
}

constexpr const char* kFilterCalls = R"(
upper ; title ; lower ; escape ; e ; forceescape ; tojson ; capitalize ; trim ; string ; safe
wordcount ; indent ; indent('q' * 9999, true, true) ; list ; reverse ; length ; count ; int
float ; center(99999) ; truncate(10) ; truncate(99999, true) ; replace('a', 'bcd')
replace('', 'b') ; sort ; sort(reverse=true) ; sort(attribute='a,b,c') ; unique ; join
join('abc') ; map('upper') ; map('center', 9999) ; map('batch', 9999, 0) ; map('slice', 9999)
map('list') ; map('tojson') ; map(attribute='a.b.c') ; batch(2) ; batch(999999, 0) ; slice(2)
slice(99999, 0) ; first ; last ; min ; max ; max(attribute='a') ; sum ; sum(attribute='a.b')
select ; reject ; select('in', b) ; select('eq', b) ; selectattr('a')
rejectattr('a', 'in', b) ; groupby('a') ; groupby(0) ; format(1) ; attr('x')
attr('q' * 99999) ; dictsort ; dictsort(by='value') ; items ; round ; round(99) ; abs
default(b) ; d
)";

const std::vector<std::string>& filter_calls() {
  static const std::vector<std::string> kAll = listed_in(kFilterCalls);
  return kAll;
}

constexpr const char* kMethodCalls = R"(
strip() ; strip('b a') ; lstrip('a b' * 99) ; rstrip('ab ' * 99) ; upper() ; lower() ; title()
capitalize() ; swapcase() ; casefold() ; split() ; split('a') ; split(none, 9)
rsplit(none, 5) ; rsplit('a b a b a b', 99) ; rsplit('b', 9999) ; splitlines()
replace('a', 'ccc') ; replace('', 'ccc') ; find('c') ; rfind('c') ; find('c' * 99)
rfind('ca b' * 9) ; find('a', 5, 99999) ; index('a b') ; rindex('a b a b a') ; count('a')
count('aa' * 99) ; count('') ; join('abc') ; join(b) ; partition('zz')
rpartition('zzzzzzzzzz') ; isdigit() ; isnumeric() ; isdecimal() ; isalpha() ; isalnum()
isspace() ; isascii() ; islower() ; isupper() ; center(99999) ; ljust(99999) ; rjust(99999)
zfill(99999) ; format(1) ; startswith('b', 9) ; startswith([b] * 99) ; endswith('b', 9)
removeprefix('b') ; removesuffix('b') ; items() ; keys() ; values() ; get('x') ; copy()
count(-1) ; index(99998)
)";

const std::vector<std::string>& method_calls() {
  static const std::vector<std::string> kAll = listed_in(kMethodCalls);
  return kAll;
}

constexpr const char* kExpressions = R"(
b[5:] ; b[::-1] ; b[::2] ; b[-1] ; b[899999] ; b == b ~ '' ; b < b ~ 'a' ; b ~ b ; b + b
b * 2 ; b % 1 ; b ~ 1 ; b in b ; b in [b, b] ; -1 in b ; [b] == [b] ; (b, b, b) | string
[b] | tojson ; {'a': b} | tojson(indent=64) ; {b: 1}[b] ; b.x ; b['x'] ; namespace(a=b)
dict(a=b) ; dict(b) ; [b] * 9 ; [b, b] + [b] ; b is lower ; b is upper ; b is eq(b)
b is ne(b) ; b is lt(b) ; b is ge(b) ; b is in(b) ; b is sameas(b) ; b is string
b is sequence ; b is filter ; '%s' % b ; '%r %5s' % (b, b) ; '{} {}'.format(b, b) ; joiner(b)()
range(99999) | list ; strftime_now('%c' * 9999) ; loop.cycle(*b) ; loop.changed(b)
-1 in range(9999) | list ; b if b == [1] else b
)";

const std::vector<std::string>& expressions() {
  static const std::vector<std::string> kAll = listed_in(kExpressions);
  return kAll;
}

/// True when a text, a list or a dict is worked on until a limit is reached; or all of them are
/// refused, or cost little.
size_t num_limited(const std::string& expression) {
  size_t count = 0;
  for (const std::string& source : many_times(expression)) {
    CAPTURE(source.substr(0, 200));
    count += is_limit(ending_of(source)) ? 1 : 0;
  }
  return count;
}

}  // namespace

TEST_CASE("each filter of a large value is counted") {
  size_t limited = 0;
  for (const std::string& call : filter_calls()) limited += num_limited("b | " + call);
  CHECK(limited > filter_calls().size());
}

TEST_CASE("each method of a large value is counted") {
  size_t limited = 0;
  for (const std::string& call : method_calls()) limited += num_limited("b." + call);
  CHECK(limited > method_calls().size() / 2);
}

TEST_CASE("each operator and test of a large value is counted") {
  size_t limited = 0;
  for (const std::string& expression : expressions()) limited += num_limited(expression);
  CHECK(limited > expressions().size());
}

TEST_CASE("the table has each filter, method and test that takes longer for a larger value") {
  const auto has = [](const std::vector<std::string>& calls, const std::string& name) {
    return std::any_of(calls.begin(), calls.end(),
                       [&](const std::string& call) { return call.starts_with(name); });
  };
  for (const char* name :
       {"capitalize", "center",  "count",       "dictsort", "escape", "first",      "float",
        "format",     "groupby", "indent",      "int",      "items",  "join",       "last",
        "length",     "list",    "lower",       "map",      "max",    "min",        "reject",
        "rejectattr", "replace", "reverse",     "round",    "select", "selectattr", "slice",
        "sort",       "string",  "sum",         "title",    "tojson", "trim",       "truncate",
        "unique",     "upper",   "wordcount",   "abs",      "attr",   "batch",      "default",
        "d",          "e",       "forceescape", "safe"}) {
    CHECK_MESSAGE(has(filter_calls(), name), name);
    CHECK(jinja::has_filter(name));
  }
}

}  // namespace s2s::test
