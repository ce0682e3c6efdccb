#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"

namespace {

const std::string kFolder = std::string(S2S_SOURCE_DIR) + "/tests/cli/golden/";

}  // namespace

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
  // Inputs of q, k, v and o, of gate and up, and of down are kept for a weight's gradient only; the
  // result of attention in any case.
  const auto kept = [](const nlohmann::json& report) {
    return report["per_rank"]["activations"]["none_recomputed"]["bytes_per_position"].get<double>();
  };
  CHECK(kept(whole) - kept(frozen) == 21 * 4 * (2 * 2048 + 5632));
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
  // Per layer: two doors and two rowwise weights, each an all-gather and a reduce-scatter; the
  // first layer's door and the last norm once more; the embedding and the head's input once
  // reduced, and three numbers of the loss.
  const auto& kinds = plain["tensor_bytes_per_position_by_kind"];
  CHECK(kinds["reduce_scatter"] == 4.0 * 2048 * 22 * 4 / 2);
  CHECK(kinds["all_gather"] == 4.0 * 2048 * (22 * 4 + 2) / 2);
  CHECK(kinds["all_reduce"] == 4.0 * 2 * (2 * 2048 + 3) / 2);
  CHECK(plain["tensor_bytes_per_position"] == 4.0 * (2048 * (22 * 8 + 2) + 2 * (2 * 2048 + 3)) / 2);
  const auto mixed = traffic(
      "--mesh data=4,tensor=2 --sequence-length 128 trainer.precision="
      "bf16-mixed trainer.accumulate_grad_batches=3 trainer.strategy.name=model_parallel "
      "trainer.strategy.param_dtype=bfloat16 "
      "trainer.strategy.reduce_dtype=float32");
  // The last norm, in no unit, is gathered once in a step: 3 other ranks with 512 numbers of it.
  constexpr int64_t kNormBytes = 3 * 512 * 2;
  CHECK(mixed["shard_gather_bytes"].get<int64_t>() - kNormBytes ==
        (plain["shard_gather_bytes"].get<int64_t>() / 2 - kNormBytes) * 3);
  CHECK(mixed["shard_reduce_bytes"] == plain["shard_reduce_bytes"].get<int64_t>() * 3);
  CHECK(mixed["tensor_activation_bytes"] ==
        // Sums of the loss stay float32.
        (plain["tensor_bytes_per_position"].get<double>() / 2 + 6) * 3 * 128);
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
                                "--world-size 4 "
                                "trainer.strategy.replicate_kv_heads=false";
  const auto result = s2s::test::run_cli(arguments);
  CHECK(result.exit_code == 3);
  CHECK(result.output.find("num_key_value_heads = 4 is not divisible by tensor_parallel = 8; "
                           "largest that works: 4") != std::string::npos);
  CHECK(result.output.find("[mesh/world]") != std::string::npos);
  const auto json = s2s::test::run_cli(arguments + " --json");
  CHECK(json.exit_code == 3);
  CHECK(nlohmann::json::parse(json.output)["findings"].size() == 2);
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
  CHECK(json["rows"][4]["per_rank"] == nlohmann::json({512, 2048}));
  CHECK(json["per_rank"]["parameter_bytes"] == 2 * json["per_rank"]["parameters"].get<int64_t>());
  CHECK(s2s::test::run_cli("plan " + kFolder + "none.yaml").exit_code == 3);
  CHECK(s2s::test::run_cli("plan " + kFolder + "plan_tinyllama.yaml --mesh x=2").exit_code == 3);
  const auto no_ranks =
      s2s::test::run_cli("plan " + kFolder + "plan_tinyllama.yaml --world-size 0");
  CHECK(no_ranks.exit_code == 2);
  CHECK(no_ranks.output.find("--world-size") != std::string::npos);
}

TEST_CASE("a mesh that cannot work names the nearest ones that do") {
  const auto result =
      s2s::test::run_cli("plan " + kFolder + "plan_tinyllama.yaml --mesh tensor=8 " +
                         "trainer.strategy.replicate_kv_heads=false");
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

TEST_CASE("each number that the tensor axis does not divide is said with sizes that work") {
  const auto findings = [](const std::string& words) {
    return s2s::test::run_cli("plan " + kFolder + "plan_tinyllama.yaml " + words).output;
  };
  const auto says = [](const std::string& output, const std::string& text) {
    CHECK_MESSAGE(output.find(text) != std::string::npos, output);
  };
  const std::string odd = findings("--mesh tensor=3");
  says(odd,
       "num_attention_heads = 32 is not divisible by tensor_parallel = 3; largest that works: "
       "2 (sizes that work: 1, 2, 4, 8, 16, 32)");
  says(odd,
       "num_key_value_heads = 4 is not divisible by tensor_parallel = 3; largest that works: "
       "2 (sizes that work: 1, 2, 4; and multiples of 4, on which several ranks hold the same "
       "one)");
  says(odd,
       "intermediate_size = 5632 is not divisible by tensor_parallel = 3; largest that works: "
       "2 (sizes that work: 1, 2, 4, 8, 11, 16, 22, 32, 44, 64, 88, 128, ...)");
  says(odd, "meshes of 3 ranks that work, nearest first: shard=3");
  // A vocabulary is rounded up instead.
  const std::string vocabulary = findings("--mesh tensor=4 model.llm.vocab_size=32003");
  says(vocabulary, "weight 32003x2048 -> 8001x2048");
  says(findings("--sequence-length 0"), "expected a number above 0");
  says(findings("--mesh data=2 trainer.strategy.zero_stage=4"), "zero_stage");
}

TEST_CASE("activations are those of the batch that is said") {
  const auto activations = [](const std::string& words) {
    const auto result =
        s2s::test::run_cli("plan --json " + kFolder + "plan_tinyllama.yaml " + words);
    return nlohmann::json::parse(result.output)["per_rank"]["activations"];
  };
  const auto unknown = activations("");
  CHECK(unknown["none_recomputed"]["bytes"].is_null());
  const auto known = activations("--sequence-length 128 --batch-size 3");
  const auto kept = [](const nlohmann::json& part) {
    return part["bytes_per_position"].get<double>() * 3 * 128 + part["fixed_bytes"].get<double>();
  };
  for (const char* name : {"none_recomputed", "every_block_recomputed", "largest_block"}) {
    CHECK(known[name]["bytes"].get<double>() == kept(known[name]));
  }
  CHECK(known["blocks"] == 22);
  const auto duplex = s2s::test::run_cli("plan --json " + kFolder + "plan_duplex.yaml");
  const auto from_data = nlohmann::json::parse(duplex.output)["per_rank"]["activations"];
  CHECK(from_data["sequences"] == 4);
  CHECK(from_data["not_counted"].size() == 1);
  const auto split = activations("--sequence-length 128 --batch-size 3 --mesh tensor=2");
  const auto whole = activations(
      "--sequence-length 128 --batch-size 3 --mesh tensor=2 "
      "trainer.strategy.sequence_parallel=false");
  CHECK(split["none_recomputed"]["bytes"] < whole["none_recomputed"]["bytes"]);
  CHECK(whole["none_recomputed"]["bytes"] < known["none_recomputed"]["bytes"]);
}

TEST_CASE("a mesh is what the strategy makes of so many ranks") {
  const auto mesh = [](const std::string& words) {
    const auto result =
        s2s::test::run_cli("plan --json " + kFolder + "plan_tinyllama.yaml " + words);
    return nlohmann::json::parse(result.output)["mesh"];
  };
  const auto ddp = mesh("trainer.strategy.name=ddp --world-size 4");
  CHECK(ddp["replicate"] == 4);
  CHECK(ddp["shard"] == 1);
  const auto hybrid =
      mesh("trainer.strategy.name=fsdp trainer.strategy.replicate_size=2 --world-size 8");
  CHECK(hybrid["replicate"] == 2);
  CHECK(hybrid["shard"] == 4);
  const auto both = mesh(
      "trainer.strategy.name=model_parallel trainer.strategy.data_parallel_size=auto "
      "trainer.strategy.tensor_parallel_size=2 --world-size 8");
  CHECK(both["shard"] == 4);
  CHECK(both["tensor"] == 2);
  const auto wrong = s2s::test::run_cli(
      "plan " + kFolder +
      "plan_tinyllama.yaml trainer.strategy.name=fsdp trainer.strategy.data_parallel_size=4 "
      "--world-size 6");
  CHECK(wrong.exit_code == 3);
  CHECK(wrong.output.find("[mesh/world]") != std::string::npos);
}
