#include "config/option_check.h"

#include "config/distrusted_files.h"
#include "config/yaml_writer.h"
#include "config_test_support.h"

using s2s::Config;
using s2s::Findings;
using s2s::OptionScope;
using s2s::test::yaml;

namespace {

struct CheckedPart {
  double scale = 1.0;
  void visit(s2s::OptionVisitor& v) { v("scale", scale, "a factor", s2s::between(0, 10)); }
};

struct CheckedOptions {
  int64_t count = 2;
  std::string path;
  std::vector<std::string> roles = {"user"};
  CheckedPart inner;
  std::vector<CheckedPart> many;
  Config free;
  void visit(s2s::OptionVisitor& v) {
    v("count", count, "how many", s2s::at_least(1));
    v("path", path, "a file", s2s::required());
    v("roles", roles, "who speaks");
    v("inner", inner, "the inner part");
    v("many", many, "several parts");
    v("free", free, "anything");
  }
};

const OptionScope kScope = {"m", "default of x", nullptr, true};

std::vector<std::string> findings_of(const std::string& text, const OptionScope& scope = kScope) {
  Findings findings;
  s2s::check_options(yaml(text), s2s::list_options<CheckedOptions>(), scope, findings);
  std::vector<std::string> out;
  for (const s2s::Error& error : findings.errors()) out.emplace_back(error.what());
  return out;
}

std::vector<std::string> reader_findings_of(const std::string& text) {
  const Config node = yaml(text);
  Findings findings;
  CheckedOptions options;
  s2s::OptionReader(node, "m", findings).read(options);
  std::vector<std::string> out;
  for (const s2s::Error& error : findings.errors()) out.emplace_back(error.what());
  return out;
}

}  // namespace

TEST_CASE("a table finds what the reader finds") {
  for (const char* text :
       {"path: x", "{}", "", "{path: x, cuont: 3}", "{path: x, count: 0}", "{path: x, count: a}",
        "{path: x, inner: {scale: 11}}", "{path: x, inner: {scael: 1}}", "{path: x, inner: 3}",
        "{path: x, inner: null}", "{path: x, many: [{scale: 1}, {x: 1}, 5]}", "{path: x, many: 3}",
        "{path: x, many: null}", "{path: x, roles: user}", "{path: x, roles: [[1]]}", "[1]",
        "{path: x, free: {a: 1}}", "path: ???", "{path: x, count: null}"}) {
    CAPTURE(std::string(text));
    auto expected = reader_findings_of(text);
    auto found = findings_of(text);
    std::sort(expected.begin(), expected.end());
    std::sort(found.begin(), found.end());
    CHECK(found == expected);
  }
}

TEST_CASE("keys that others know and required keys can be left to others") {
  OptionScope scope = kScope;
  scope.known_elsewhere = [](const std::string& key) { return key == "name"; };
  scope.check_required = false;
  CHECK(findings_of("name: x", scope).empty());
  CHECK(findings_of("{name: x, inner: {name: x}}", scope).size() == 1);
}

TEST_CASE("a value that could not be interpolated is no second finding") {
  CHECK(findings_of("{path: x, count: '${nowhere}'}").empty());
}

TEST_CASE("absent options are completed with their defaults and origin") {
  Config node = yaml("{path: x, many: [{}, {scale: 2}], inner: {}}");
  s2s::complete_options(node, s2s::list_options<CheckedOptions>(), kScope);
  CHECK(s2s::write_yaml_inline(node) ==
        "{path: x, many: [{scale: 1.0}, {scale: 2}], inner: {scale: 1.0}, count: 2, roles: [user], "
        "free: null}");
  CHECK(node.find("count")->origin().text() == "default of x");
  CHECK(node.find_path("inner.scale")->origin().text() == "default of x");
  CHECK(node.find("path")->origin().text() == "test.yaml:1:2");
  Config empty;
  s2s::complete_options(empty, s2s::list_options<CheckedOptions>(), kScope);
  CHECK(empty.find("path")->is_missing());
  CHECK(empty.find_path("inner.scale")->as_double("") == 1.0);
}

TEST_CASE("a program that a distrusted file names is refused, unless it is the default") {
  struct Listener {
    std::string program = "listen";
    void visit(s2s::OptionVisitor& v) { v("program", program, "what is started", s2s::program()); }
  };
  s2s::distrust_file("/theirs/config.yaml");
  const auto ids_of = [](const std::string& program, const std::string& file) {
    Config node = Config::map();
    node["program"] = Config::scalar(program);
    node["program"].set_origin({file, 3, 1});
    Findings checked, read;
    s2s::check_options(node, s2s::list_options<Listener>(), kScope, checked);
    Listener listener;
    s2s::OptionReader(node, "m", read).read(listener);
    std::vector<std::string> ids;
    for (const Findings* findings : {&checked, &read}) {
      for (const s2s::Error& error : findings->errors()) ids.push_back(error.id());
    }
    return ids;
  };
  CHECK(ids_of("evil.sh", "/theirs/config.yaml") ==
        std::vector<std::string>{"config/program", "config/program"});
  CHECK(ids_of("listen", "/theirs/config.yaml").empty());
  CHECK(ids_of("evil.sh", "/mine/config.yaml").empty());
}
