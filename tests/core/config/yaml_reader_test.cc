#include "config/yaml_reader.h"

#include "config/config_bytes.h"
#include "config/yaml_writer.h"
#include "config_test_support.h"

using s2s::Config;
using s2s::same_value;
using s2s::test::error_of;
using s2s::test::yaml;

TEST_CASE("an indentation with a tab is reported") {
  const std::string message = error_of([] { yaml("a:\n  b: 1\n\tc: 2\n"); });
  CHECK_MESSAGE(
      message.find("the line begins with a tab: YAML takes spaces only") != std::string::npos,
      message);
  CHECK(error_of([] { yaml("a: [1\n"); }).find("tab") == std::string::npos);
}

TEST_CASE("what is not UTF-8 is refused at its place") {
  const std::string message = error_of([] { yaml("name: caf\xc3\xa9\npath: caf\xe9\n"); });
  CHECK_MESSAGE(
      message.find("test.yaml:2:10: the byte 0xe9 is not UTF-8; save the text as UTF-8") !=
          std::string::npos,
      message);
  CHECK_FALSE(error_of([] { s2s::parse_yaml_value("caf\xc3", {}); }).empty());
  CHECK(yaml("{a: \"\\xe9\"}").find("a")->text() == "\xc3\xa9");
}

TEST_CASE("anchors, aliases and merge keys bring values with their own origin") {
  const Config config = yaml(
      "base: &b\n  lr: 1\n  eps: 2\n"
      "one:\n  <<: *b\n  lr: 5\n"
      "two: *b\n"
      "list: [&x 7, *x]\n");
  CHECK(config.find_path("one.lr")->as_int("") == 5);
  CHECK(config.find_path("one.eps")->as_int("") == 2);
  CHECK(config.find_path("one.eps")->origin().text() == "test.yaml:3:3");
  CHECK(config.find_path("two.lr")->as_int("") == 1);
  CHECK(config.find_path("list.1")->as_int("") == 7);
}

TEST_CASE("a merge key takes a list of maps, the first wins") {
  const Config config = yaml("a: &a {x: 1}\nb: &b {x: 2, y: 3}\nc:\n  z: 0\n  <<: [*a, *b]\n");
  CHECK(config.find_path("c.x")->as_int("") == 1);
  CHECK(config.find_path("c.y")->as_int("") == 3);
  CHECK(error_of([] { yaml("a: {<<: 3}"); }).find("'<<' needs a map") != std::string::npos);
  CHECK(yaml("{'<<': 3}").find("<<")->as_int("") == 3);
}

TEST_CASE("quoted and block scalars are strings") {
  CHECK(yaml("\"12\"").quoted());
  CHECK(yaml("a: |\n  12\n").find("a")->as_string("") == "12\n");
  CHECK(yaml("a: >-\n  one\n  two\n").find("a")->as_string("") == "one two");
  CHECK(yaml("!!str 12").quoted());
  CHECK(yaml("!!int '12'").as_int("") == 12);
}

TEST_CASE("a syntax error says file, line and column") {
  const std::string message = error_of([] { yaml("a: 1\nb: [1, 2\nc: 3\n"); });
  CHECK(message.find("[config/syntax] test.yaml:3:") == 0);
  CHECK(error_of([] { yaml("a: b: c"); }).find("[config/syntax] test.yaml:1:") == 0);
  CHECK(error_of([] { yaml("a: *nowhere"); }).find("[config/syntax]") == 0);
  CHECK(error_of([] { yaml("a: !python/object 3"); }).find("is not supported") !=
        std::string::npos);
  CHECK(error_of([] { yaml("a: 1\n---\nb: 2\n"); }).find("second document") != std::string::npos);
  CHECK(error_of([] { yaml("? [a]\n: 1"); }).find("plain text") != std::string::npos);
  CHECK(error_of([] { yaml("~: 1"); }).find("plain text") != std::string::npos);
  CHECK(error_of([] { yaml("a: &x [*x]"); }).find("[config/syntax]") == 0);
}

TEST_CASE("a text that needs quotes inside braces or brackets is reported") {
  for (const char* text : {"a: { b: ??? }", "a: { b: ${c.d} }", "a: [1, ${c.d}]"}) {
    const std::string message = error_of([&] { yaml(text); });
    CHECK_MESSAGE(message.find("in quotes") != std::string::npos, message);
  }
  CHECK(yaml("a: { b: \"???\" }").find("a")->find("b")->text() == "???");
}

TEST_CASE("a duplicate key is an error with both places") {
  CHECK(error_of([] { yaml("a:\n  b: 1\n  c: 2\n  b: 3\n"); }) ==
        "[config/duplicate-key] test.yaml:4:3: key 'b' occurs twice in one map, first at "
        "test.yaml:2:3; remove one of them");
}

TEST_CASE("aliases that multiply without end are refused") {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + last;
    for (int j = 0; j < 9; ++j) text += ", " + last;
    text += "]\n";
  }
  CHECK(error_of([&] { yaml(text); }).find("too much for a configuration") != std::string::npos);
}

TEST_CASE("anchors inside anchors around much are refused before each has kept its copy") {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "&a" + std::to_string(i) + " [";
  for (int i = 0; i < 50'000; ++i) text += "1,";
  text += std::string(40, ']');
  CHECK(error_of([&] { yaml(text); }).find("too much for a configuration") != std::string::npos);
  CHECK(yaml("a: &a [1, &b 2, &c {x: &d 3}]\nb: [*a, *b, *c, *d]\n").find("b")->items().size() ==
        4);
}

TEST_CASE("aliases, anchors and merges that bring in many bytes are refused with their place") {
  const std::string limit = "more than 64 MiB, which is too much for a configuration";
  const std::string start = "a: &x '" + std::string(1 << 20, 'y') + "'\n";
  const auto list_of = [&](int count) {
    std::string text = start + "b:\n";
    for (int i = 0; i < count; ++i) text += "- *x\n";
    return text;
  };
  CHECK(yaml(list_of(60)).find("b")->items().size() == 60);
  const std::string aliases = error_of([&] { yaml(list_of(64)); });
  CHECK_MESSAGE(aliases.starts_with("[config/syntax] test.yaml:65:3: "), aliases.substr(0, 200));
  CHECK(aliases.find(limit) != std::string::npos);

  std::string anchors, merges = "a: &m {k: '" + std::string(1 << 20, 'y') + "'}\n";
  for (int i = 0; i < 40; ++i) anchors += "&a" + std::to_string(i) + " [";
  anchors += "'" + std::string(2 << 20, 'y') + "'" + std::string(40, ']');
  CHECK(error_of([&] { yaml(anchors); }).find(limit) != std::string::npos);
  // Each merge copies twice: its alias, and what it brings in.
  for (int i = 0; i < 40; ++i) merges += "b" + std::to_string(i) + ": {<<: *m}\n";
  CHECK(error_of([&] { yaml(merges); }).find(limit) != std::string::npos);
}

TEST_CASE("deep nesting ends in an error, not in a crash") {
  CHECK(error_of([] { yaml(std::string(100000, '[')); }).find("[config/syntax]") == 0);
  const std::string deep = error_of([] {
    std::string text = "a";
    for (int i = 0; i < 10000; ++i) text += ": {a";
    yaml(text);
  });
  CHECK(deep.find("blocks and lists are nested deeper than 500 levels here") != std::string::npos);
}

TEST_CASE("a map with very many keys is no configuration") {
  std::string text;
  for (int i = 0; i < 10'002; ++i) text += "k" + std::to_string(i) + ": 1\n";
  CHECK(s2s::test::error_of([&] { s2s::test::yaml(text); }).find("more than 10000 keys") !=
        std::string::npos);
}

TEST_CASE("a tree is the same after its way through bytes, with the places of its values") {
  const Config tree =
      yaml("a:\n  b: [1, \"2\", ~, {c: d}]\n  e: |\n    two\n    lines\nf: []\ng: {}\n");
  const std::string bytes = s2s::config_to_bytes(tree);
  const Config copy = s2s::config_from_bytes(bytes, "test.yaml");
  CHECK(same_value(copy, tree));
  CHECK(copy.find_path("a.b.1")->quoted());
  CHECK(copy.find_path("a.b.3.c")->origin().text() == tree.find_path("a.b.3.c")->origin().text());
  for (size_t size = 0; size < bytes.size(); ++size) {
    CHECK_THROWS_AS(s2s::config_from_bytes(bytes.substr(0, size), ""), std::runtime_error);
  }
}
