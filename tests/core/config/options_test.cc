#include "s2s/options.h"

#include "config/yaml_writer.h"
#include "config_test_support.h"

using s2s::Config;
using s2s::Findings;
using s2s::test::error_of;
using s2s::test::yaml;

namespace {

struct Inner {
  double scale = 1.0;
  std::optional<int64_t> width;
  void visit(s2s::OptionVisitor& v) {
    v("scale", scale, "a factor", s2s::between(0, 10));
    v("width", width, "frames", s2s::at_least(1));
  }
};

struct Outer {
  int64_t num_layers = 22;
  bool tied = false;
  std::string kind = "plain";
  std::vector<double> betas = {0.9, 0.98};
  std::vector<std::string> roles = {"user"};
  std::optional<std::string> path;
  Inner inner;
  std::vector<Inner> many;
  Config free;
  void visit(s2s::OptionVisitor& v) {
    v("num_layers", num_layers, "decoder blocks", s2s::at_least(1));
    v("tied", tied, "share the embedding");
    v("kind", kind, "which one", s2s::one_of({"plain", "fancy"}));
    v("betas", betas, "decay rates", s2s::between(0, 1));
    v("roles", roles, "who speaks");
    v("path", path, "a file");
    v("inner", inner, "the inner part");
    v("many", many, "several parts");
    v("free", free, "anything", "llm");
  }
};

struct Strict {
  std::string name;
  void visit(s2s::OptionVisitor& v) { v("name", name, "which one", s2s::required()); }
};

std::string read_error(const std::string& text) {
  return error_of([&] { s2s::read_options<Outer>(yaml(text), "model.llm"); });
}

}  // namespace

TEST_CASE("options are read with their types, and absent ones keep their defaults") {
  const auto options = s2s::read_options<Outer>(
      yaml("num_layers: 4\ntied: true\nkind: fancy\nbetas: [1, 0.5]\nroles: [a, 3]\npath: x\n"
           "inner: {scale: 3, width: 2}\nmany: [{scale: 2}, {width: null}]\nfree: {a: [1]}"),
      "m");
  CHECK(options.num_layers == 4);
  CHECK(options.tied);
  CHECK(options.kind == "fancy");
  CHECK(options.betas == std::vector<double>{1.0, 0.5});
  CHECK(options.roles == std::vector<std::string>{"a", "3"});
  CHECK(options.path == "x");
  CHECK(options.inner.scale == 3.0);
  CHECK(options.inner.width == 2);
  REQUIRE(options.many.size() == 2);
  CHECK(options.many[0].scale == 2.0);
  CHECK_FALSE(options.many[1].width.has_value());
  CHECK(options.free.find_path("a.0")->as_int("") == 1);
  const auto defaults = s2s::read_options<Outer>(Config(), "m");
  CHECK(defaults.num_layers == 22);
  CHECK(defaults.betas.size() == 2);
  CHECK(s2s::read_options<Outer>(yaml("{inner: null, roles: null}"), "m").roles.empty());
}

TEST_CASE("an unknown key is an error with the nearest name") {
  CHECK(read_error("num_layer: 3") ==
        "[config/unknown-key] unknown key 'num_layer' in model.llm (test.yaml:1:1); did you mean "
        "'num_layers'?");
  CHECK(read_error("inner: {sclae: 3}") ==
        "[config/unknown-key] unknown key 'sclae' in model.llm.inner (test.yaml:1:9); did you mean "
        "'scale'?");
  CHECK(read_error("many: [{zzzzzzzz: 3}]") ==
        "[config/unknown-key] unknown key 'zzzzzzzz' in model.llm.many.0 (test.yaml:1:9); known: "
        "scale, width");
}

TEST_CASE("values out of bounds and outside of the choices are errors") {
  CHECK(read_error("num_layers: 0") ==
        "[config/bounds] model.llm.num_layers (test.yaml:1:1): expected a value from 1 to 10000, "
        "got 0");
  CHECK(read_error("betas: [0.9, 1.5]") ==
        "[config/bounds] model.llm.betas.1 (test.yaml:1:14): expected a value from 0 to 1, got "
        "1.5");
  CHECK(read_error("inner: {scale: .nan}").find("[config/bounds]") == 0);
  CHECK(read_error("kind: fancyy") ==
        "[config/choice] model.llm.kind (test.yaml:1:1): got \"fancyy\", expected one of: plain, "
        "fancy; did you mean 'fancy'?");
}

TEST_CASE("wrong types are errors, for scalars, lists and groups") {
  CHECK(read_error("num_layers: many").find("expected an integer, got \"many\"") !=
        std::string::npos);
  CHECK(read_error("num_layers: null").find("expected an integer, got null") != std::string::npos);
  CHECK(read_error("roles: user").find("expected a list of string, got \"user\"; write [user]") !=
        std::string::npos);
  CHECK(read_error("inner: 3").find("expected a map of options, got 3") != std::string::npos);
  CHECK(read_error("many: {a: 1}").find("expected a list of maps, got a map") != std::string::npos);
  CHECK(read_error("many: [3]").find("model.llm.many.0") != std::string::npos);
  CHECK(read_error("[1]").find("expected a map of options, got a list") != std::string::npos);
}

TEST_CASE("mandatory values that are missing are errors, wherever they are") {
  for (const char* text :
       {"num_layers: ???", "inner: ???", "many: ???", "roles: ???", "path: ???", "free: ???",
        "betas: [ '??"
        "?' ]"}) {
    CAPTURE(text);
    CHECK(read_error(text).find("[config/missing]") == 0);
  }
  CHECK(error_of([] { s2s::read_options<Strict>(yaml("{}"), "model.llm"); }) ==
        "[config/missing] model.llm.name is required in the block at test.yaml:1:1: which one; add "
        "it to the file or give model.llm.name=VALUE on the command line");
}

TEST_CASE("all findings are collected, and keys known elsewhere are passed over") {
  Findings findings;
  Outer options;
  const Config config = yaml("num_layers: 0\nkind: x\ninner: {width: 0}\nname: a\nfoo: 1");
  s2s::OptionReader(config, "m", findings, {"name"}).read(options);
  CHECK(findings.errors().size() == 4);
  CHECK(options.num_layers == 22);
  CHECK(error_of([&] { findings.throw_if_any(); }).find("4 findings") != std::string::npos);
}

TEST_CASE("the table lists every option with type, default, doc and bounds") {
  const s2s::OptionTable table = s2s::list_options<Outer>();
  std::string text;
  for (const auto& row : table) text += row.name + " | " + row.type + " | " + row.value + "\n";
  CHECK(text ==
        "num_layers | int | 22\ntied | bool | false\nkind | string | plain\n"
        "betas | list of float | [0.9, 0.98]\nroles | list of string | [user]\n"
        "path | string? | null\ninner | map | \ninner.scale | float | 1.0\n"
        "inner.width | int? | null\nmany | list of map | []\nmany[].scale | float | 1.0\n"
        "many[].width | int? | null\nfree | subtree | null\n");
  CHECK(table[0].bounds.min == 1);
  CHECK(table[0].doc == "decoder blocks");
  CHECK(table.back().kind == "llm");
}

TEST_CASE("options that are written read back to the same options") {
  const Config first = yaml("{num_layers: 3, many: [{scale: 0.1}], kind: fancy, free: {a: 1}}");
  const Config written = s2s::write_options(s2s::read_options<Outer>(first, "m"));
  CHECK(written.find("tied")->as_bool("") == false);
  const Config again = s2s::write_options(s2s::read_options<Outer>(written, "m"));
  CHECK(s2s::same_value(written, again));
  CHECK(written.find_path("many.0.scale")->as_double("") == 0.1);
}
