#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "common/places.h"

TEST_CASE("compare prints every tensor and exits with 0 only when all pass") {
  const std::string file =
      s2s::test::source_dir() + "/tests/reference/data/hf_llama_plain.safetensors";
  const auto result = s2s::test::run_cli("compare " + file);
  CHECK(result.exit_code == 0);
  CHECK(result.output.find("output/logits") != std::string::npos);
  CHECK(result.output.find("output/greedy") != std::string::npos);
  const auto json = nlohmann::json::parse(s2s::test::run_cli("compare " + file + " --json").output);
  CHECK(json["pass"] == true);
  CHECK(json["tensors"].size() > 20);
  CHECK(s2s::test::run_cli("compare " + file + " --dtype int8").exit_code == 2);
  CHECK(s2s::test::run_cli("compare " + s2s::test::source_dir() + "/README.md").exit_code == 5);
}
