#include "jinja/template.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "common/contains.h"
#include "common/reference_json.h"

namespace {

using nlohmann::ordered_json;
using s2s::jinja::Dict;
using s2s::jinja::kGenerated;
using s2s::jinja::MarkedText;
using s2s::jinja::Template;
using s2s::jinja::TemplateError;
using s2s::jinja::Value;
using s2s::test::contains;

Value value_of(const ordered_json& json) {
  if (json.is_null()) return Value::none();
  if (json.is_boolean()) return Value::of(json.get<bool>());
  if (json.is_number_integer()) return Value::of(json.get<int64_t>());
  if (json.is_number()) return Value::of(json.get<double>());
  if (json.is_string()) return Value::of(json.get<std::string>());
  if (json.is_array()) {
    s2s::jinja::Values items;
    for (const ordered_json& item : json) items.push_back(value_of(item));
    return Value::list(std::move(items));
  }
  Dict members;
  for (const auto& [key, item] : json.items()) members.set(Value::of(key), value_of(item));
  return Value::of(std::move(members));
}

std::string failure(const std::string& source) {
  try {
    const Template made(source);
    made.render({});
  } catch (const TemplateError& error) {
    return std::to_string(error.line()) + ": " + error.what();
  }
  return "";
}

}  // namespace

// tests/reference/chat_templates.py, transformers 5.23 with Jinja2 3.1.6 from PyPI.
TEST_CASE("chat templates write what transformers writes, and fail where it fails") {
  const auto golden = s2s::test::reference_json<ordered_json>("chat_templates.json.gz");
  size_t num_errors = 0;
  for (const ordered_json& row : golden["cases"]) {
    CAPTURE(row["name"].get<std::string>());
    std::vector<std::pair<std::string, Value>> variables;
    for (const auto& [name, value] : row["variables"].items()) {
      variables.emplace_back(name, value_of(value));
    }
    const auto source = golden["templates"][row["template"].get<std::string>()];
    if (row.contains("error")) {
      ++num_errors;
      CHECK_THROWS_AS(Template(source.get<std::string>()).render(variables), TemplateError);
      continue;
    }
    const MarkedText text = Template(source.get<std::string>()).render(variables);
    CHECK(text.bytes() == row["text"].get<std::string>());
    std::vector<std::vector<size_t>> spans;
    for (const auto& mark : text.marks()) {
      if (mark.tag == kGenerated) spans.push_back({mark.begin, mark.end});
    }
    CHECK(spans == row["spans"].get<std::vector<std::vector<size_t>>>());
  }
  CHECK(golden["cases"].size() == 262);
  CHECK(num_errors == 47);
}

TEST_CASE("marks follow a text through what templates do with it") {
  const auto marked = [](const std::string& expression) {
    const Template made("ab{{ " + expression + " }}c");
    const MarkedText text = made.render({{"x", Value::of(MarkedText::from(" xyz ", 7))}});
    REQUIRE(text.marks().size() == 1);
    CHECK(text.marks()[0].tag == 7);
    return text.bytes().substr(text.marks()[0].begin, text.marks()[0].end - text.marks()[0].begin);
  };
  CHECK(marked("x") == " xyz ");
  CHECK(marked("x | trim") == "xyz");
  CHECK(marked("'q' + x.strip() + 'r'") == "xyz");
  CHECK(marked("x[2:4]") == "yz");
  CHECK(marked("x | upper") == " XYZ ");
  CHECK(marked("x.split('y')[0]") == " x");
  CHECK(marked("['n', x] | join(',')") == " xyz ");
  CHECK(marked("'n-m'.replace('-', x)") == " xyz ");
}

TEST_CASE("a template that fails says why and in which line") {
  CHECK(failure("a\n{{ raise_exception('no ' ~ 1) }}") == "2: no 1");
  CHECK(contains(failure("\n\n{{ x.y }}"), "3: 'x' is undefined"));
  CHECK(contains(failure("{% for i in 3 %}{% endfor %}"), "1: cannot iterate over int"));
  CHECK(contains(failure("a\n{% if x"), "2: a tag has no end"));
  CHECK(contains(failure("{% if x %}\n"), "missing '{% endif %}'"));
  CHECK(contains(failure("{{ 'a }}"), "a string has no end"));
  CHECK(contains(failure("{{ 1 | nothing }}"), "no filter named 'nothing'"));
  CHECK(contains(failure("{% include 'x' %}"), "unknown tag 'include'"));
  CHECK(failure("{{ 1 }}") == "");
}

TEST_CASE("a hostile template ends with an error") {
  CHECK(contains(failure("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"), "calls itself"));
  CHECK(contains(failure("{{ 'x' * 100000000 }}"), "64 MB"));
  CHECK(contains(failure("{{ range(200000) }}"), "100000"));
  const std::string grows = "{% set ns = namespace(x=1) %}{% for i in range(900) %}{% set ns.x = ";
  CHECK(contains(failure(grows + "[ns.x] %}{% endfor %}"), "200 levels"));
  CHECK(contains(failure(grows + "[ns.x, ns.x] %}{% endfor %}"), "too large"));
  CHECK(contains(failure(grows + "ns %}{% endfor %}"), "cannot hold a namespace"));
  CHECK(contains(
      failure("{% for i in range(9999) %}{% for j in range(9999) %}{% endfor %}{% endfor %}"),
      "too long"));
  // Work, memory and the stack end, too.
  CHECK(
      contains(failure("{% for i in range(99999) %}{{ range(99999) | sum }}{% endfor %}"), "long"));
  CHECK(contains(failure("{% set a = 'q' * 60000000 %}{% for i in range(99999) %}"
                         "{% if a.find('p') > 0 %}{% endif %}{% endfor %}"),
                 "too long"));
  CHECK(contains(failure("{{ ('a' * 9000000) | list }}"), "1000000 items"));
  CHECK(contains(failure("{{ [0] * 99999999999 }}"), "1000000 items"));
  CHECK(contains(failure("{{ '%5000d' % 1 }}"), "wider than 1000"));
  const std::string held = "{% set ns = namespace(j=1) %}{% for i in range(9) %}{% set ns.j = ";
  CHECK(contains(failure(held + "{'a': ns.j}.get %}{% endfor %}"), "holds functions"));
  std::string filters;
  for (int i = 0; i < 900; ++i) filters += "|upper";
  CHECK(contains(failure("{% macro m() %}{{ m()" + filters + " }}{% endmacro %}{{ m() }}"),
                 "calls itself"));
  std::string chains = "1";
  for (int i = 0; i < 3; ++i) chains = "(" + chains + filters + ")";
  CHECK(contains(failure("{{ " + chains + " }}"), "shorter expression"));
  CHECK(contains(failure("{{ [9223372036854775807, 1] | sum }}"), "too large"));
  CHECK(contains(failure("{{ (-9223372036854775807 - 1) | abs }}"), "too large"));
  CHECK(failure("{{ (-9223372036854775807 - 1) is divisibleby(-1) }}{{ range(9223372036854775800, "
                "9223372036854775807, 5) | list }}{{ (-1) ** 9223372036854775807 }}") == "");
  const std::string open(100000, '('), close(100000, ')');
  CHECK(contains(failure("{{ " + open + "1" + close + " }}"), "less deep"));
  std::string sum = "{{ 1";
  for (int i = 0; i < 100000; ++i) sum += " + 1";
  CHECK(contains(failure(sum + " }}"), "shorter expression"));
  std::string blocks;
  for (int i = 0; i < 10000; ++i) blocks += "{% if 1 %}";
  CHECK(contains(failure(blocks), "too deep"));
}
