#include "streams/input_tree.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "common/contains.h"
#include "common/temporary_folder.h"
#include "config/yaml_reader.h"

namespace s2s::data {
namespace {

using test::contains;
using test::TemporaryFolder;

/// Everything that is wrong with a block, which begins in a folder.
std::vector<std::string> findings_of(const std::string& yaml, const TemporaryFolder& folder) {
  InputContext context;
  context.path = "data.train_ds";
  context.base_dir = folder.path();
  context.seed = [](const Config&, const std::string&) { return int64_t{0}; };
  Findings findings;
  parse_input(parse_yaml(yaml, "c.yaml"), context, findings);
  std::vector<std::string> texts;
  for (const Error& error : findings.errors()) texts.emplace_back(error.what());
  return texts;
}

TEST_CASE("a source of a type that nobody knows is refused") {
  const TemporaryFolder folder;
  const std::vector<std::string> findings =
      findings_of("input_cfg: [{ type: lhotse_shar_of_the_moon, shar_path: x }]", folder);
  REQUIRE(!findings.empty());
  CHECK(contains(findings[0], "[data/input-type] "));
  CHECK(contains(findings[0], "lhotse_shar_of_the_moon"));
}

TEST_CASE("a file of sources that includes itself is refused, however often") {
  const TemporaryFolder folder;
  std::string list;
  for (int i = 0; i < 200; ++i) list += "- {type: group, input_cfg: again.yaml}\n";
  folder.write("again.yaml", list);
  folder.write("there.yaml", "- {type: group, input_cfg: back.yaml}\n");
  std::filesystem::create_symlink("there.yaml", folder / "back.yaml");
  for (const char* name : {"again", "there"}) {
    const auto findings = findings_of("input_cfg: " + std::string(name) + ".yaml", folder);
    REQUIRE(findings.size() == 1);
    CHECK(contains(findings[0], "[data/input] "));
    CHECK(contains(findings[0], "includes itself"));
    CHECK(contains(findings[0], "data.train_ds.input_cfg.0.input_cfg"));
  }
}

TEST_CASE("a file may be named several times, and files that multiply end at a limit") {
  const TemporaryFolder folder;
  const auto twice = [](const std::string& name) {
    const std::string line = "- {type: group, input_cfg: " + name + ".yaml}\n";
    return line + line;
  };
  folder.write("sources.yaml", "- {type: lhotse, cuts_path: a.jsonl}\n");
  folder.write("pair.yaml", twice("sources"));
  CHECK(findings_of("input_cfg: pair.yaml", folder).empty());
  for (int i = 0; i < 20; ++i) {
    const std::string next = i == 19 ? "sources" : "f" + std::to_string(i + 1);
    folder.write("f" + std::to_string(i) + ".yaml", twice(next));
  }
  const auto findings = findings_of("input_cfg: f0.yaml", folder);
  REQUIRE(findings.size() == 1);
  CHECK(contains(findings[0], "more than 20000 sources"));
}

TEST_CASE("the patterns of all sources together expand to at most 4 million files") {
  const TemporaryFolder folder;
  std::string list = "input_cfg:\n";
  for (int i = 0; i < 200; ++i) list += "- {type: nemo, manifest_filepath: 'c{0..999999}'}\n";
  const auto findings = findings_of(list, folder);
  REQUIRE(!findings.empty());
  CHECK(contains(findings[0], "[data/braces] "));
  CHECK(contains(findings[0], "to more than 4 million names"));
}

}  // namespace
}  // namespace s2s::data
