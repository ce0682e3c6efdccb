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

TEST_CASE("frozen parameters keep no gradient, no optimizer state, and reduce nothing") {
  const std::string plan = "plan --json " + kFolder + "plan_tinyllama.yaml --mesh data=4 ";
  const auto whole = nlohmann::json::parse(s2s::test::run_cli(plan).output);
  const auto frozen = nlohmann::json::parse(
      s2s::test::run_cli(plan + "'model.freeze_params=[\"layers\\\\.\"]' "
                                "'model.prevent_freeze_params=[\"layers\\\\.21\\\\.\"]'")
          .output);
  CHECK(frozen["per_rank"]["parameters"] == whole["per_rank"]["parameters"]);
  // The embedding, the head, the last norm and one layer of 22 train.
  const int64_t layer = (2 * 2048 + 2 * 2048 * 2048 + 2 * 256 * 2048 + 3 * 5632 * 2048) / 4;
  CHECK(frozen["per_rank"]["trained"] == (2 * 32000 * 2048 + 2048) / 4 + layer);
  CHECK(frozen["per_rank"]["gradient_bytes"] == 4 * frozen["per_rank"]["trained"].get<int64_t>());
  CHECK(frozen["per_rank"]["optimizer_bytes"] == 8 * frozen["per_rank"]["trained"].get<int64_t>());
  const auto& traffic = frozen["traffic_per_step"];
  CHECK(traffic["shard_gather_bytes"] == whole["traffic_per_step"]["shard_gather_bytes"]);
  CHECK(traffic["shard_reduce_bytes"] == 3 * 4 * frozen["per_rank"]["trained"].get<int64_t>());
  const auto all = s2s::test::run_cli("plan " + kFolder + "plan_tinyllama.yaml " +
                                      "'model.freeze_params=[\".*\"]'");
  CHECK(all.exit_code == 3);
  CHECK(all.output.find("[config/nothing-trainable]") != std::string::npos);
  const auto none = s2s::test::run_cli("plan " + kFolder + "plan_tinyllama.yaml " +
                                       "'model.freeze_params=[nothing]'");
  CHECK(none.exit_code == 0);
  CHECK(none.output.find("warning: model.freeze_params: 'nothing' matches no parameter") !=
        std::string::npos);
}

TEST_CASE("traffic follows precision, accumulation, batch and length") {
  const auto traffic = [](const std::string& words) {
    const auto result =
        s2s::test::run_cli("plan --json " + kFolder + "plan_tinyllama.yaml " + words);
    return nlohmann::json::parse(result.output)["traffic_per_step"];
  };
  CHECK(traffic("")["total_bytes"] == 0);
  const auto plain = traffic("--mesh data=4,tensor=2");
  CHECK(plain["total_bytes"].is_null());
  // Per layer: two doors and two rowwise weights, each an all-gather forward and one backward; the
  // first layer's door once more.
  CHECK(plain["tensor_bytes_per_position"] == 4.0 * 2048 * (22 * 8 + 1) / 2);
  const auto mixed = traffic(
      "--mesh data=4,tensor=2 --sequence-length 128 trainer.precision="
      "bf16-mixed trainer.accumulate_grad_batches=3");
  CHECK(mixed["shard_gather_bytes"] == plain["shard_gather_bytes"].get<int64_t>() / 2 * 3);
  CHECK(mixed["shard_reduce_bytes"] == plain["shard_reduce_bytes"].get<int64_t>() * 3);
  CHECK(mixed["tensor_activation_bytes"] ==
        plain["tensor_bytes_per_position"].get<double>() / 2 * 3 * 128);
}

TEST_CASE("the models of the repository's configurations have plans without findings") {
  for (const char* name : {"tiny", "demo"}) {
    const auto result = s2s::test::run_cli(std::string("plan " S2S_SOURCE_DIR "/configs/") + name +
                                           ".yaml --mesh data=2 --json");
    CAPTURE(result.output);
    CHECK(result.exit_code == 0);
    CHECK(nlohmann::json::parse(result.output)["traffic_per_step"]["total_bytes"] > 0);
  }
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

TEST_CASE("a mesh that cannot work names the nearest ones that do") {
  const auto result = s2s::test::run_cli("plan " + kFolder + "plan_tinyllama.yaml --mesh tensor=8");
  CHECK(result.exit_code == 3);
  CHECK_MESSAGE(
      s2s::test::has(result, "num_key_value_heads = 4 is not divisible by tensor_parallel = 8"),
      result.output);
  CHECK_MESSAGE(s2s::test::has(result,
                               "meshes of 8 ranks that work, nearest first: shard=2,tensor=4; "
                               "shard=4,tensor=2; shard=8"),
                result.output);
  const auto world =
      s2s::test::run_cli("plan " + kFolder + "plan_tinyllama.yaml --mesh tensor=2 --world-size 12");
  CHECK_MESSAGE(s2s::test::has(world,
                               "meshes of 12 ranks that work, nearest first: "
                               "shard=6,tensor=2; shard=12; shard=3,tensor=4"),
                world.output);
}
