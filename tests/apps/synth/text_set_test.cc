#include "s2s_run/synth/text_set.h"

#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "common/temporary_folder.h"
#include "s2s/error.h"

using s2s::synth::SetOptions;
using s2s::synth::SetSummary;
using s2s::test::TemporaryFolder;

namespace {

std::vector<nlohmann::json> lines_of(const std::string& path) {
  std::vector<nlohmann::json> lines;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

SetOptions tiny_text(uint64_t seed) {
  SetOptions options;
  options.kind = "text";
  options.size = s2s::synth::Size::kTiny;
  options.seed = seed;
  return options;
}

}  // namespace

TEST_CASE("a text set is the same twice, and its held-out prompts are not in training") {
  const TemporaryFolder folder;
  const SetSummary made = s2s::synth::make_set(folder / "a", tiny_text(1), 1, {});
  CHECK_FALSE(made.reused);
  CHECK(made.cuts.at("train") == 256);
  CHECK(made.cuts.at("chat_dev") == 16);
  CHECK(s2s::synth::make_set(folder / "a", tiny_text(1), 1, {}).reused);
  s2s::synth::make_set(folder / "b", tiny_text(1), 1, {});
  const auto training = lines_of(folder / "a/train.jsonl");
  CHECK(training == lines_of(folder / "b/train.jsonl"));
  CHECK(lines_of(folder / "a/chat.jsonl").size() == 256);
  std::set<std::string> prompts;
  for (const auto& line : training) prompts.insert(line["prompt"].get<std::string>());
  for (const auto& line : lines_of(folder / "a/dev.jsonl")) {
    CHECK_FALSE(prompts.contains(line["prompt"].get<std::string>()));
    CHECK_FALSE(line["response"].get<std::string>().empty());
  }
  try {
    s2s::synth::make_set(folder / "a", tiny_text(2), 1, {});
    FAIL("another set was there");
  } catch (const s2s::Error& error) {
    CHECK(error.id() == "synth/other-set");
  }
}
