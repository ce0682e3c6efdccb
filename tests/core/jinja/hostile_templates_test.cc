// Templates that need much more work or memory than their length.

#include "core/jinja/hostile_templates.h"

#include <string>
#include <utility>
#include <vector>

namespace s2s::test {
namespace {

using Named = std::vector<std::pair<std::string, std::string>>;

std::string in_loop(const std::string& body) {
  return "{% for i in range(99999) %}" + body + "{% endfor %}";
}

std::string dict_of(const std::string& key, int count) {
  return listed("{", count, [&](int i) { return key + std::to_string(i) + "':1"; }) + "}";
}

void add_lists(Named& all) {
  const std::string b = "{% set b = range(99999) | list %}";
  all.emplace_back("slices", "{{ ([[1]] * 9999) | map('slice', 99999, 0) | list | length }}");
  all.emplace_back("empty slices", "{{ ([[1]] * 9999) | map('slice', 99999) | list }}");
  all.emplace_back("batches", "{{ ([[1]] * 9999) | map('batch', 99999, 0) | list | length }}");
  all.emplace_back("wide texts", "{{ range(99999) | map('center', 1048576) | list | length }}");
  all.emplace_back("select in",
                   "{{ range(99999) | select('in', range(99999) | list) | list | length }}");
  all.emplace_back("is in", b + "{% for i in b %}{% if i is in b %}{% endif %}{% endfor %}");
  all.emplace_back("count", b + "{% for i in b %}{{ b.count(1) }}{% endfor %}");
  all.emplace_back("sort by more", "{{ range(99999) | sort(attribute='a,b,c,d') | length }}");
  all.emplace_back("sort again", in_loop("{{ range(9999) | sort(reverse=true) | length }}"));
  all.emplace_back("group", "{{ range(99999) | groupby('x') | length }}");
  all.emplace_back("unique lists", "{% set b = range(9999) | batch(1) %}{{ b | unique }}");
  all.emplace_back("grows", "{% set n = namespace(l=[]) %}" + in_loop("{% set n.l = n.l + [i] %}"));
  all.emplace_back("doubles",
                   "{% set n = namespace(l=[1]) %}" + in_loop("{% set n.l = n.l + n.l %}"));
  all.emplace_back("deep equality",
                   "{% set n = namespace(l=[1], m=[1]) %}{% for i in range(19) %}{% set n.l = "
                   "[n.l, n.l] %}{% set n.m = [n.m, n.m] %}{% endfor %}" +
                       in_loop("{{ n.l == n.m }}"));
  all.emplace_back("functions", "{% set n = namespace() %}" + in_loop("{% set x = ['a'.upper] * "
                                                                      "99999 %}"));
  all.emplace_back("dotted",
                   "{{ range(99999) | map(attribute='" + repeated("a.", 9000) + "a') | list }}");
  all.emplace_back("undefined names",
                   in_loop("{% set x = [1] | map('attr', 'q' * 999999) | list %}"));
}

void add_dicts(Named& all) {
  const std::string named = dict_of("'k", 20000);
  all.emplace_back("dict copies",
                   "{% set d = " + named + " %}" + in_loop("{% set e = dict(d, **{'a': 1}) %}"));
  all.emplace_back(
      "numbered dict",
      "{% set d = " + listed("{", 20000, [](int i) { return std::to_string(i) + ":1"; }) + "} %}" +
          in_loop("{% set e = dict(d) %}"));
  all.emplace_back("tuples as keys", "{% set d = " + listed("{", 20000, [](int i) {
                                       return "(" + std::to_string(i) + ",):1";
                                     }) + "} %}");
  all.emplace_back("named arguments", "{% set d = " + named +
                                          " %}{% macro m() %}{{ kwargs | length }}{% endmacro %}" +
                                          in_loop("{{ m(**d) }}"));
  all.emplace_back("parameters",
                   listed("{% macro m(", 3000, [](int i) { return "k" + std::to_string(i); }) +
                       ") %}{% endmacro %}{% set d = " + dict_of("'k", 3000) + " %}" +
                       in_loop("{{ m(**d) }}"));
  all.emplace_back("dict grows", "{% set n = namespace(d={}) %}" +
                                     in_loop("{% set n.d = dict(n.d, **{i | string: 1}) %}"));
  all.emplace_back("dict display",
                   in_loop(listed("{% set a = {", 9000, [](int) { return "'a':1"; }) + "} %}"));
}

void add_texts(Named& all) {
  all.emplace_back("find long", "{% set b = 'a' * 3000000 %}{% set c = 'a' * 1500000 ~ 'b' %}" +
                                    in_loop("{{ b.find(c) }}{{ c in b }}"));
  all.emplace_back("rsplit long", "{% set b = 'a' * 3000000 %}{% set c = 'b' ~ 'a' * 1500000 %}" +
                                      in_loop("{{ b.rsplit(c, 1) | length }}"));
  all.emplace_back("find in pairs",
                   "{% set b = 'ab' * 3000000 %}" + in_loop("{{ b.find('bb' ~ 'ab' * 100) }}"));
  all.emplace_back("captures", "{% macro m() %}{{ 'a' * 6000000 }}{% endmacro %}" +
                                   repeated("{% set x %}{{ m() }}{{ m() }}{% endset %}", 999));
  all.emplace_back("kept captures",
                   "{% macro m() %}{{ 'a' * 6000000 }}{% endmacro %}{% set x = [m(), m(), m(), "
                   "m(), m(), m(), m(), m()] %}");
  all.emplace_back("text grows", "{% set n = namespace(l='') %}" +
                                     in_loop("{% set n.l = n.l ~ 'aaaaaaaaaaaaaaa' %}"));
  all.emplace_back("marks", "{% set x %}" + in_loop("{% generation %}a{% endgeneration %}") +
                                "{% endset %}{% for c in x %}{% endfor %}");
  all.emplace_back("marks reversed",
                   "{% set x %}{% for i in range(9999) %}{% generation %}a{% "
                   "endgeneration %}{% endfor %}{% endset %}" +
                       in_loop("{{ x[::-1] | length }}"));
  all.emplace_back("joined", "{{ (['a' * 100000] * 10000) | join }}");
  all.emplace_back("shown", "{{ (['a' * 100000] * 10000) | string }}");
  all.emplace_back("indented json", "{{ ([[1] * 1000] * 4000) | tojson(indent=64) }}");
  all.emplace_back("wide fields", "{{ ('%1000d' * 99999) % ((1,) * 99999) }}");
  all.emplace_back("one field", "{{ ('{0}' * 99999).format('a' * 99999) }}");
  all.emplace_back("indent", "{{ ('\\n' * 999999) | indent('b' * 1000, true, true) }}");
  all.emplace_back("joiner", "{% set j = joiner('a' * 999999) %}" + in_loop("{{ j() }}"));
  all.emplace_back("numbers", in_loop("{{ ('1' * 99999) | int }}{{ ('1' * 99999) | float }}"));
}

void add_statements(Named& all) {
  all.emplace_back("comparisons", in_loop("{% if 1" + repeated("==1", 9000) + " %}{% endif %}"));
  all.emplace_back("and", in_loop("{% if 1" + repeated(" and 1", 990) + " %}{% endif %}"));
  all.emplace_back("or", in_loop("{% if 0" + repeated(" or 0", 990) + " %}{% endif %}"));
  all.emplace_back("not", in_loop("{% if " + repeated("not ", 999) + "0 %}{% endif %}") +
                              in_loop("{% for j in range(99999) %}{% endfor %}"));
  all.emplace_back("sums", in_loop("{{ 1" + repeated(" + 1", 990) + " }}"));
  all.emplace_back("filters", in_loop("{{ 1" + repeated("|string", 990) + " }}"));
  all.emplace_back("elif", in_loop("{% if 0 %}" + repeated("{% elif 0 %}", 5000) + "{% endif %}"));
  all.emplace_back("with", in_loop(listed("{% with ", 9000,
                                          [](int i) { return "a" + std::to_string(i) + "=1"; }) +
                                   " %}{% endwith %}"));
  all.emplace_back("sets", "{% macro m(n) %}" + repeated("{% set a = [1] %}", 9000) +
                               "{% if n %}{{ m(n - 1) }}{% endif %}{% endmacro %}" +
                               in_loop("{{ m(150) }}"));
  std::string names;
  for (int i = 0; i < 9000; ++i) names += "{% set a" + std::to_string(i) + "=1 %}";
  all.emplace_back("names", "{% macro m(n) %}" + names +
                                "{% if n %}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(150) }}");
  all.emplace_back("loops", in_loop(in_loop("{{ loop.index }}")));
  all.emplace_back("loops with conditions",
                   in_loop("{% for k in range(99999) if k == -1 %}{% endfor %}"));
  all.emplace_back("recursive loops",
                   "{% for i in range(9999) recursive %}{{ loop(range(9999)) }}{% endfor %}");
  all.emplace_back("macros",
                   "{% macro m(n) %}{% if n %}{{ m(n-1) }}{{ m(n-1) }}{% endif %}{% "
                   "endmacro %}{{ m(50) }}");
  all.emplace_back("filter blocks",
                   in_loop("{% filter upper %}" + repeated("x", 9999) + "{% endfilter %}"));
  all.emplace_back("call blocks", "{% macro m() %}{{ caller() }}{{ caller() }}{% endmacro %}" +
                                      repeated("{% call m() %}", 40) + "x" +
                                      repeated("{% endcall %}", 40));
  all.emplace_back("plain text", in_loop(repeated("x", 9999)));
  all.emplace_back("displays",
                   in_loop("{% set a = " + repeated("[1,", 40) + repeated("]", 40) + " %}"));
  all.emplace_back("names in scopes",
                   in_loop("{{ nothing }}{{ nothing }}{{ nothing }}" + in_loop("{{ nothing }}")));
}

Named hostile_templates() {
  Named all;
  add_lists(all);
  add_dicts(all);
  add_texts(all);
  add_statements(all);
  return all;
}

}  // namespace

TEST_CASE("each hostile template is ended by what it counts") {
  for (const auto& [name, source] : hostile_templates()) {
    CAPTURE(name);
    const std::string ending = ending_of(source);
    CHECK_MESSAGE(is_limit(ending), ending);
  }
}

TEST_CASE("a template is at most 1 MiB long") {
  jinja::Template(std::string(1 << 20, 'x'));
  CHECK_THROWS_WITH_AS(jinja::Template(std::string((1 << 20) + 1, 'x')),
                       doctest::Contains("longer than 1 MiB"), jinja::TemplateError);
}

}  // namespace s2s::test
