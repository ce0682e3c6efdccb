#include "train/run_folder.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "common/temporary_folder.h"

namespace {

namespace fs = std::filesystem;
using s2s::test::TemporaryFolder;

std::string read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// What is left of metrics.jsonl when a run goes on after `steps_done` steps, and what it warns of.
std::pair<std::string, std::vector<std::string>> resumed(const std::string& text,
                                                         int64_t steps_done) {
  const TemporaryFolder folder;
  const std::string path = folder / "metrics.jsonl";
  std::ofstream(path) << text;
  std::vector<std::string> warnings;
  const s2s::MetricsLog log(path, steps_done,
                            [&](const std::string& what) { warnings.push_back(what); });
  for (std::string& what : warnings) what = what.substr(0, what.find(" and was dropped"));
  for (std::string& what : warnings) what = what.substr(what.rfind("metrics.jsonl"));
  return {read(path), warnings};
}

}  // namespace

TEST_CASE("metrics.jsonl loses the lines that its checkpoint does not have, and no word on it") {
  const auto [text, warnings] = resumed("{\"step\":1}\n{\"step\":2}\n{\"step\":3}\n{\"st", 2);
  CHECK(text == "{\"step\":1}\n{\"step\":2}\n");
  CHECK(warnings.empty());
}

TEST_CASE("a line that is none of a step is dropped with a warning, and does not end the run") {
  const std::vector<std::string> lines = {R"({"step":"x"})", "[1]", R"({"loss":1})",
                                          R"({"step":1e300})", std::string(200'000, '[')};
  for (const std::string& line : lines) {
    const auto [text, warnings] = resumed("{\"step\":1}\n" + line + "\n{\"step\":2}\n", 2);
    CHECK(text == "{\"step\":1}\n{\"step\":2}\n");
    REQUIRE(warnings.size() == 1);
    CHECK(warnings[0] == "metrics.jsonl: line 2 is not the line of a step");
  }
}

TEST_CASE("lines that a power cut took are told where a run goes on") {
  const auto [text, warnings] = resumed("{\"step\":1}\n{\"step\":2}\n", 5);
  CHECK(text == "{\"step\":1}\n{\"step\":2}\n");
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].starts_with("metrics.jsonl lacks the lines of steps 3 to 5, which"));
}

TEST_CASE("what a killed process left beside the files of a run is removed") {
  const TemporaryFolder folder;
  const s2s::RunFolder run(folder / "a/b");
  std::ofstream(run.file(".config.yaml.s2s-abc123")) << "half";
  std::ofstream(run.file("config.yaml")) << "whole";
  run.remove_left_overs();
  CHECK_FALSE(fs::exists(run.file(".config.yaml.s2s-abc123")));
  CHECK(fs::exists(run.file("config.yaml")));
}
