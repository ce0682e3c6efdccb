// The same speech model around each family of language models.

#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "cli/train/tiny_run.h"

using namespace s2s::test;

TEST_CASE("one word of the configuration chooses another backbone, and the model trains with it") {
  const TemporaryFolder folder;
  std::set<double> first_losses;
  for (const std::string name : {"llama", "tinyllama", "gemma", "qwen"}) {
    CAPTURE(name);
    const std::filesystem::path run = folder.path() / name;
    train_tiny(run, {"model.llm.name=" + name});
    std::vector<double> losses;
    for (const auto& line : metrics(run)) {
      if (!line.contains("validation")) losses.push_back(line["loss"]);
    }
    REQUIRE(losses.size() == 10);
    CHECK(std::isfinite(losses.back()));
    CHECK(losses.back() < losses.front());
    first_losses.insert(losses.front());
  }
  // tinyllama with all sizes given is llama with another eps; the others are other models.
  CHECK(first_losses.size() >= 3);
}
