#include "config/load_config.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "common/temporary_folder.h"
#include "config/interpolation.h"
#include "config/nearest_file.h"
#include "config/yaml_writer.h"
#include "config_test_support.h"

using s2s::Config;
using s2s::test::error_of;
using s2s::test::TemporaryFolder;
using s2s::test::yaml;

namespace {

namespace fs = std::filesystem;

std::string overridden(const std::string& text, const std::vector<std::string>& words) {
  Config config = yaml(text);
  s2s::apply_overrides(config, words);
  return s2s::write_yaml_inline(config);
}

std::string override_error(const std::string& text, const std::string& word) {
  return error_of([&] { overridden(text, {word}); });
}

std::string resolved(const std::string& text) {
  Config config = yaml(text);
  s2s::resolve_interpolations(config);
  return s2s::write_yaml_inline(config);
}

std::string resolve_error(const std::string& text) {
  return error_of([&] { resolved(text); });
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a link that leads to itself is no missing file") {
  const s2s::test::TemporaryFolder folder;
  std::filesystem::create_symlink("loop", folder / "loop");
  CHECK(error_of([&] { s2s::load_config(folder / "loop"); }) ==
        "[config/unreadable] cannot read config file '" + (folder / "loop") +
            "': Too many levels of symbolic links");
}

TEST_CASE("a config file is loaded with its origins") {
  const TemporaryFolder folder;
  const std::string path = folder.write("tiny.yaml", "model:\n  type: x\n");
  const Config config = s2s::load_config(path);
  CHECK(config.find_path("model.type")->origin().text() == path + ":2:3");
  CHECK(s2s::load_config(folder.write("empty.yaml", "")).is_map());
  CHECK(error_of([&] {
          s2s::load_config(folder.write("list.yaml", "[1]"));
        }).find("[config/type] the config (") == 0);
}

TEST_CASE("a config that is a pipe, a device or huge is refused, not waited for") {
  const TemporaryFolder folder;
  REQUIRE(mkfifo((folder / "fifo.yaml").c_str(), 0600) == 0);
  fs::create_symlink("/dev/zero", folder / "zero.yaml");
  fs::resize_file(folder.write("huge.yaml", ""), size_t{1} << 31);
  const auto message = [&](const char* name) {
    return error_of([&] { s2s::load_config(folder / name); });
  };
  CHECK(message("fifo.yaml").find("it is not a regular file") != std::string::npos);
  CHECK(message("zero.yaml").find("it is not a regular file") != std::string::npos);
  CHECK(message("huge.yaml").find("[config/unreadable]") == 0);
}

TEST_CASE("a missing config file is an error with the nearest name of its folder") {
  const TemporaryFolder folder;
  folder.write("tiny.yaml", "");
  const std::string base = folder.path().string();
  CHECK(error_of([&] { s2s::load_config(base + "/tny.yaml"); }) ==
        "[config/no-file] no config file '" + base + "/tny.yaml'; did you mean '" + base +
            "/tiny.yaml'?");
  CHECK(error_of([&] { s2s::load_config(base + "/tiny"); }).find("tiny.yaml'?") !=
        std::string::npos);
  std::ofstream(base + "/data.json") << "{}";
  CHECK(s2s::nearest_file(base + "/tiny.yml") == base + "/tiny.yaml");
  CHECK(s2s::nearest_file(base + "/tiny") == base + "/tiny.yaml");
  CHECK(s2s::nearest_file(base + "/tny") == base + "/tiny.yaml");
  CHECK(s2s::nearest_file(base + "/dta.json") == base + "/data.json");
  CHECK(s2s::nearest_file(base + "/nope.json") == "");  // an extension alone is no likeness
  CHECK(error_of([&] { s2s::load_config(base + "/none/none.yaml"); }).find("[config/no-file]") ==
        0);
  CHECK(error_of([&] { s2s::load_config(base); }).find("[config/unreadable]") == 0);
}

TEST_CASE("where a long override came from is shown in short") {
  const std::string word = "a=[" + std::string(300, 'x') + "]";
  Config config = yaml("{}");
  s2s::apply_overrides(config, {word});
  const std::string origin = config.find("a")->origin().text();
  CHECK(origin == "command line: " + word.substr(0, 100) + "...");
}

TEST_CASE("overrides set, add, merge, index and remove") {
  CHECK(overridden("{a: {b: 1}}", {"a.b=2"}) == "{a: {b: 2}}");
  CHECK(overridden("{}", {"a.b.c=[1, x]"}) == "{a: {b: {c: [1, x]}}}");
  CHECK(overridden("{a: 1}", {"+b=2", "++c=3"}) == "{a: 1, b: 2, c: 3}");
  CHECK(overridden("{a: {b: 1, c: 2}}", {"a={c: 5, d: 6}"}) == "{a: {b: 1, c: 5, d: 6}}");
  CHECK(overridden("{a: {b: 1}}", {"a=null"}) == "{a: null}");
  CHECK(overridden("{a: {b: 1}}", {"a=null", "a.c=1"}) == "{a: {c: 1}}");
  CHECK(overridden("{a: [{b: 1}, 2]}", {"a.0.b=7", "a.2=9", "a[1]=8"}) == "{a: [{b: 7}, 8, 9]}");
  CHECK(overridden("{a: [{b: 1}]}", {"a[0].b=7"}) == "{a: [{b: 7}]}");
  CHECK(overridden("{a: 1, b: {c: 2, d: 3}}", {"~a", "~b.c"}) == "{b: {d: 3}}");
  CHECK(overridden("{a: [1, 2, 3]}", {"~a.1"}) == "{a: [1, 3]}");
  CHECK(overridden("{}", {"a="}) == "{a: \"\"}");
  CHECK(overridden("{}", {"a=b=c"}) == "{a: b=c}");
  CHECK(overridden("{}", {"lr=1e-4", "s='1'"}) == "{lr: 1e-4, s: \"1\"}");
}

TEST_CASE("an override's origin is the command line") {
  Config config = yaml("a: {b: 1}");
  s2s::apply_overrides(config, {"a.b={c: 3}"});
  CHECK(config.find_path("a.b.c")->origin().text() == "command line: a.b={c: 3}");
}

TEST_CASE("an override of item 0 makes the list that is not there") {
  s2s::Config config = yaml("{a: {list: null}}");
  s2s::apply_overrides(config, {"a.list.0.x=1", "a.list.1.x=2", "a.other[0]=5"});
  REQUIRE(config.find_path("a.list")->is_list());
  CHECK(config.find_path("a.list.1.x")->as_int("") == 2);
  CHECK(config.find_path("a.other.0")->as_int("") == 5);
}

TEST_CASE("an override that cannot be applied says why") {
  CHECK(override_error("{a: 1}", "a.b=2") ==
        "[config/override] command line: a.b=2: a (test.yaml:1:2) is 1, which cannot hold 'b'");
  CHECK(override_error("{a: [1]}", "a.5=2").find("a list of 1, which has no element '5'") !=
        std::string::npos);
  CHECK(override_error("{a: [1]}", "a.x=2").find("no element 'x'") != std::string::npos);
  CHECK(override_error("{trainer: {devices: 1}}", "~trainer.device")
            .find("did you mean 'devices'?") != std::string::npos);
  CHECK(override_error("{}", "~a.b").find("no 'a' in the config") != std::string::npos);
  CHECK(override_error("{a: 1}", "~a.b.c").find("[config/override]") == 0);
  for (const char* word : {"abc", "=3", "a..b=3", "a.=3", ".a=3", "a[0=3", "a]=3", "~", "", "+"}) {
    CAPTURE(word);
    CHECK(override_error("{}", word).find("[config/override]") == 0);
  }
  const std::string not_yaml = override_error("{}", "a=[1");
  CHECK(not_yaml.find("command line: a=[1: the value is not YAML: ") != std::string::npos);
  CHECK(not_yaml.find("a=[1", not_yaml.find("not YAML")) == std::string::npos);
}

TEST_CASE("random override words never crash") {
  std::mt19937 random(5);
  const std::string letters = "ab01.=+~[]{}$:,'\"\\ \n&*!|>-#?";
  for (int i = 0; i < 20000; ++i) {
    std::string word;
    for (auto n = random() % 14; n > 0; --n) word += letters[random() % letters.size()];
    Config config = yaml("{a: {b: [1, {a: 2}]}, b: '${a.b}', '0': text}");
    CAPTURE(word);
    try {
      s2s::apply_overrides(config, {word});
      s2s::resolve_interpolations(config);
    } catch (const s2s::Error& error) {
      REQUIRE(error.id().find("config/") == 0);
    }
  }
}

TEST_CASE("an interpolation takes the target's type or tree, or is part of a text") {
  CHECK(resolved("{a: {b: 3}, c: '${a.b}'}") == "{a: {b: 3}, c: 3}");
  CHECK(resolved("{a: {b: [1, 2]}, c: '${a}'}") == "{a: {b: [1, 2]}, c: {b: [1, 2]}}");
  CHECK(resolved("{a: [5, {x: 6}], c: '${a.1.x}', d: '${a[0]}'}") ==
        "{a: [5, {x: 6}], c: 6, d: 5}");
  CHECK(resolved("{a: runs, b: 3, c: '${a}/step_${b}'}") == "{a: runs, b: 3, c: runs/step_3}");
  CHECK(resolved("{a: '${b}', b: '${c}', c: 7}") == "{a: 7, b: 7, c: 7}");
  CHECK(resolved("{a: {x: 1, y: '${.x}', z: {w: '${..x}'}}}") == "{a: {x: 1, y: 1, z: {w: 1}}}");
  CHECK(resolved("{a: '${b.x}', b: '${c}', c: {x: 2}}") == "{a: 2, b: {x: 2}, c: {x: 2}}");
  CHECK(resolved("{which: w, w: 4, a: '${${which}}'}") == "{which: w, w: 4, a: 4}");
  CHECK(resolved("a: ???\nb: ${a}") == "{a: \"???\", b: \"???\"}");
  CHECK(resolved("{a: null, b: '${a}'}") == "{a: null, b: null}");
}

TEST_CASE("an escaped interpolation is text, also after it was copied") {
  CHECK(resolved("{a: '\\${x}', b: '${a}'}") == "{a: \"${x}\", b: \"${x}\"}");
  CHECK(resolved("{x: 1, a: '\\\\${x}'}") == "{x: 1, a: \"\\\\1\"}");
}

TEST_CASE("the environment is read, with a default") {
  setenv("S2S_TEST_VALUE", "12", 1);
  unsetenv("S2S_TEST_NOTHING");
  CHECK(resolved("{a: '${oc.env:S2S_TEST_VALUE}'}") == "{a: 12}");
  CHECK(resolved("{a: '${oc.env:S2S_TEST_NOTHING, 5}'}") == "{a: 5}");
  CHECK(resolved("{b: x, a: '${oc.env:S2S_TEST_NOTHING,${b}}'}") == "{b: x, a: x}");
  CHECK(resolved("{a: 'runs/${oc.env:S2S_TEST_NOTHING,me}'}") == "{a: runs/me}");
  CHECK(resolve_error("{a: '${oc.env:S2S_TEST_NOTHING}'}")
            .find("no environment variable 'S2S_TEST_NOTHING'") != std::string::npos);
  setenv("S2S_TEST_VALUE", "caf\xe9", 1);
  CHECK(resolve_error("{a: '${oc.env:S2S_TEST_VALUE}'}").find("'S2S_TEST_VALUE' is not UTF-8") !=
        std::string::npos);
  CHECK(resolve_error("{a: '${now:x}'}").find("unknown resolver 'now'") != std::string::npos);
}

TEST_CASE("an interpolated value remembers the way it came") {
  Config config = yaml("a: 3\nb: ${a}\n");
  s2s::resolve_interpolations(config);
  CHECK(config.find("b")->origin().text() == "test.yaml:1:1 via ${a} at test.yaml:2:1");
}

TEST_CASE("an interpolation without target is an error with the nearest name") {
  CHECK(resolve_error("trainer: {max_steps: 3}\nx: ${trainer.max_step}") ==
        "[config/interpolation] x (test.yaml:2:1): there is no 'trainer.max_step' in the "
        "configuration; "
        "did you mean 'max_steps' instead of 'max_step'? (in \"${trainer.max_step}\")");
  CHECK(resolve_error("{a: {b: 1}, x: 'n${a}'}").find("cannot be part of a text") !=
        std::string::npos);
  CHECK(resolve_error("a: ???\nx: n${a}").find("[config/missing]") == 0);
  for (const char* text : {"a: '${'", "a: '${}'", "a: '${...x}'", "a: '${.}'", "a: '${b'"}) {
    CAPTURE(text);
    CHECK(resolve_error(text).find("[config/interpolation]") == 0);
  }
}

TEST_CASE("interpolations that go in a circle are an error with the circle") {
  CHECK(resolve_error("{a: '${b}', b: '${c}', c: '${a}'}") ==
        "[config/interpolation-cycle] a (test.yaml:1:2): circular interpolation: a -> b -> "
        "c -> a; give one of them a value");
  CHECK(resolve_error("{a: 'x${a}'}").find("[config/interpolation-cycle]") == 0);
  CHECK(resolve_error("{a: {b: '${a}'}}").find("[config/interpolation-cycle]") == 0);
  CHECK(resolve_error("{a: '${b}', b: {c: '${a}'}}").find("[config/interpolation-cycle]") == 0);
}

TEST_CASE("many mistakes in references cost no comparison of all keys each") {
  std::string text = "m:\n";
  for (int i = 0; i < 9000; ++i) text += "  key_number_" + std::to_string(i) + ": 1\n";
  text += "l:\n";
  for (int i = 0; i < 9000; ++i) text += "- ${m.key_numbxr_" + std::to_string(i) + "}\n";
  Config config = yaml(text);
  s2s::Findings findings;
  s2s::resolve_interpolations(config, findings);
  REQUIRE(findings.errors().size() == 9000);
  const auto suggests = [](const s2s::Error& error) {
    return error.message().find("did you mean") != std::string::npos;
  };
  CHECK(std::count_if(findings.errors().begin(), findings.errors().end(), suggests) == 20);
}

TEST_CASE("interpolations bring in what a configuration may have, and no more") {
  std::string grows = "a0: xxxxxxxxxx\n";
  std::string tree = "a0: [x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string of_before = "${a" + std::to_string(i - 1) + "}";
    const std::string name = "a" + std::to_string(i) + ": ";
    grows += name;
    tree += name + "[";
    for (int n = 0; n < 10; ++n) {
      grows += of_before;
      tree += "\"" + of_before + "\", ";
    }
    grows += "\n";
    tree += "x]\n";
  }
  CHECK(has(resolve_error(grows), "interpolations bring in more than 16 MiB"));
  CHECK(has(resolve_error(tree), "interpolations bring in more than 16 MiB"));
  s2s::Findings findings;
  Config config = yaml(grows + "b: ${a7}\nc: ${a8}\n");
  s2s::resolve_interpolations(config, findings);
  CHECK(findings.errors().size() == 1);
}

TEST_CASE("interpolations inside of each other, and chains of them, end") {
  std::string inside = "a";
  std::string chain = "a0: 1\n";
  for (int i = 0; i < 1000; ++i) inside = "${" + inside + "}";
  for (int i = 1; i < 1000; ++i) {
    chain = "a" + std::to_string(i) + ": ${a" + std::to_string(i - 1) + "}\n" + chain;
  }
  CHECK(has(resolve_error("a: 1\nb: \"" + inside + "\"\n"), "more than 64 other values"));
  CHECK(has(resolve_error(chain), "more than 64 other values"));
  const std::set<std::string> roots = {"b", "c"};
  CHECK(s2s::interpolation_roots(yaml("a: ${b.${c.d}}\ne: ${${b}}\n")) == roots);
  CHECK(s2s::interpolation_roots(yaml("b: \"" + inside + "\"\n")).size() == 1);
  CHECK(resolved("a: b\nb: c\nc: 1\nd: ${${${a}}}\n") == "{a: b, b: c, c: 1, d: 1}");
}

TEST_CASE("file, overrides and interpolations together give the effective config") {
  const TemporaryFolder folder;
  const std::string path = folder.write("c.yaml",
                                        "trainer: {max_steps: 10}\n"
                                        "lr: {max_steps: \"${trainer.max_steps}\"}\n");
  const Config config = s2s::load_effective_config(path, {"trainer.max_steps=20"});
  CHECK(config.find_path("lr.max_steps")->as_int("") == 20);
  CHECK(s2s::effective_text(config) == "trainer:\n  max_steps: 20\nlr:\n  max_steps: 20\n");
}
