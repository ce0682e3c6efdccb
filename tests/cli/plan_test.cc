#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/command.h"

namespace {

const std::string kFolder = std::string(S2S_SOURCE_DIR) + "/tests/cli/golden/";

std::string golden(const std::string& name) {
  std::ifstream file(kFolder + name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("the printed plan of TinyLlama on four data and two tensor ranks is the golden one") {
  const auto result =
      s2s::test::run_cli("plan " + kFolder + "plan_tinyllama.yaml --mesh data=4,tensor=2");
  CHECK(result.exit_code == 0);
  CHECK(result.output == golden("plan_tinyllama.txt"));
}

TEST_CASE("a plan that does not fit its mesh exits with 3 and names every finding") {
  const std::string arguments = "plan " + kFolder + "plan_tinyllama.yaml --mesh tensor=8 " +
                                "--world-size 4 --sequence-length 125";
  const auto result = s2s::test::run_cli(arguments);
  CHECK(result.exit_code == 3);
  CHECK(result.output.find("num_key_value_heads = 4 is not divisible by tensor_parallel = 8; "
                           "largest that works: 4") != std::string::npos);
  CHECK(result.output.find("[mesh/world]") != std::string::npos);
  CHECK(result.output.find("[plan/sequence]") != std::string::npos);
  const auto json = s2s::test::run_cli(arguments + " --json");
  CHECK(json.exit_code == 3);
  CHECK(nlohmann::json::parse(json.output)["findings"].size() == 3);
}

TEST_CASE("the mesh of the strategy's options is the default, and the plan is there as JSON") {
  const auto result = s2s::test::run_cli("plan " + kFolder +
                                         "plan_tinyllama.yaml --json "
                                         "trainer.strategy.tensor_parallel_size=4 "
                                         "trainer.precision=bf16-true");
  CHECK(result.exit_code == 0);
  const auto json = nlohmann::json::parse(result.output);
  CHECK(json["mesh"]["tensor"] == 4);
  CHECK(json["parameters"] == 1100048384);
  CHECK(json["rows"][3]["per_rank"] == nlohmann::json({512, 2048}));
  CHECK(json["per_rank"]["parameter_bytes"] == 2 * json["per_rank"]["parameters"].get<int64_t>());
  CHECK(s2s::test::run_cli("plan " + kFolder + "none.yaml").exit_code == 3);
  CHECK(s2s::test::run_cli("plan " + kFolder + "plan_tinyllama.yaml --mesh x=2").exit_code == 3);
}
