#include "config/yaml_writer.h"

#include <random>

#include "config/load_config.h"
#include "config_test_support.h"

using s2s::Config;
using s2s::same_value;
using s2s::write_yaml;
using s2s::write_yaml_inline;
using s2s::test::yaml;

namespace {

std::string random_text(std::mt19937& random) {
  static const std::vector<std::string> kSpecial = {
      "null",     "~",           "true",
      "False",    "yes",         "1",
      "-1.5",     "1e-4",        "???",
      "",         " ",           "a b",
      " a",       "a ",          "a: b",
      "# x",      "a #b",        "- x",
      "*x",       "&x",          "!x",
      "%x",       "@x",          "`",
      "'",        "\"",          "\\",
      "{",        "}",           "[",
      "]",        ",",           "a,b",
      "...",      "---",         "\n",
      "a\nb",     "\t",          "^llm\\..+$",
      "<<",       "${a}",        "\\${a}",
      "\\\\${",   "|",           ">",
      "?",        ":",           "=",
      "x:",       "00:03:50:00", "\xc3\xa4\xe2\x82\xac",
      "\x01\x7f", "0x1F",        "010",
      "1_000",    ".inf",        ".nan",
      ".",        "..",          "0o7",
      "+1",       "+",           "\xf0\x9f\x98\x80"};
  std::string text = kSpecial[random() % kSpecial.size()];
  if (random() % 3 == 0) text += kSpecial[random() % kSpecial.size()];
  return text;
}

Config random_tree(std::mt19937& random, int depth) {
  const auto kind = random() % (depth > 0 ? 5 : 3);
  if (kind == 3) {
    std::vector<Config> items;
    for (auto i = random() % 4; i > 0; --i) items.push_back(random_tree(random, depth - 1));
    return Config::list(std::move(items));
  }
  if (kind == 4) {
    Config map = Config::map();
    for (auto i = random() % 4; i > 0; --i) {
      map[random_text(random)] = random_tree(random, depth - 1);
    }
    return map;
  }
  // A plain scalar is one that YAML can write plainly: what is not, is quoted.
  const std::string text = random_text(random);
  return kind == 0 ? yaml(write_yaml_inline(Config::scalar(text))) : Config::scalar(text, true);
}

}  // namespace

TEST_CASE("a tree that is written parses back to an equal tree") {
  std::mt19937 random(11);
  for (int i = 0; i < 3000; ++i) {
    const Config tree = random_tree(random, 4);
    for (const bool origins : {false, true}) {
      s2s::YamlStyle style;
      style.show_origins = origins;
      const std::string text = write_yaml(tree, style);
      CAPTURE(text);
      REQUIRE(same_value(yaml(text), tree));
    }
    REQUIRE(same_value(yaml(write_yaml_inline(tree)), tree));
  }
}

TEST_CASE("an effective text, read and resolved again, is the same tree") {
  std::mt19937 random(12);
  for (int i = 0; i < 2000; ++i) {
    Config tree = Config::map();
    tree["x"] = random_tree(random, 3);
    const std::string text = s2s::effective_text(tree);
    CAPTURE(text);
    Config back = yaml(text);
    s2s::resolve_interpolations(back);
    REQUIRE(same_value(back, tree));
  }
}

TEST_CASE("text is readable: plain where it can be, lists in one line where they fit") {
  CHECK(write_yaml(yaml("a: {b: 1, c: [x, 'y z', \"12\", ~], d: {}, e: []}\n"
                        "f: [{g: 1, h: 2}, [1, 2]]\np: '^audio_codec\\..+$'\nn: 3e-4")) ==
        "a:\n  b: 1\n  c: [x, y z, \"12\", null]\n  d: {}\n  e: []\n"
        "f:\n  - g: 1\n    h: 2\n  - [1, 2]\np: ^audio_codec\\..+$\nn: 3e-4\n");
}

TEST_CASE("origins follow the values") {
  s2s::YamlStyle style;
  style.show_origins = true;
  const std::string text = write_yaml(yaml("a:\n  b: 1\n"), style);
  CHECK(text == "a:\n  b: 1" + std::string(42, ' ') + "# test.yaml:2:3\n");
}

TEST_CASE("values are compared by what they mean") {
  CHECK(same_value(yaml("abc"), yaml("'abc'")));
  CHECK_FALSE(same_value(yaml("12"), yaml("'12'")));
  CHECK_FALSE(same_value(yaml("{a: 1}"), yaml("{a: 2}")));
  CHECK_FALSE(same_value(yaml("[1]"), yaml("[1, 2]")));
}
