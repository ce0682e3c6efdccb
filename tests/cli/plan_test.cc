#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/repository_configs.h"
#include "common/places.h"
#include "common/temporary_folder.h"

namespace {

const std::string kFolder = s2s::test::source_dir() + "/tests/cli/golden/";

}  // namespace

TEST_CASE("a plan of more ranks than anybody has is refused at once") {
  const std::string config = "plan " + s2s::test::source_dir() + "/configs/tiny.yaml ";
  for (const char* words : {"--world-size 100000000", "--mesh data=9223372036854775807,tensor=2",
                            "trainer.strategy='{name: fsdp, data_parallel_size: 4000000}'",
                            "trainer.devices=2000000"}) {
    const s2s::test::CommandResult result = s2s::test::run_cli(config + words);
    CHECK(result.exit_code == 3);
    CHECK_MESSAGE(s2s::test::has(result, "[mesh/size] a plan of "), result.output);
  }
  CHECK(s2s::test::run_cli(config + "--mesh data=1048576").exit_code == 0);
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
  // Per layer: two boundaries and two rowwise weights, each an all-gather and a reduce-scatter; the
  // first layer's boundary and the last norm once more; the embedding and the head's input once
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
  const std::vector<std::string> configs = s2s::test::repository_configs();
  CHECK(configs.size() >= 6);
  for (const std::string& config : configs) {
    const auto result = s2s::test::run_cli("plan " + config + " --mesh data=2 --json");
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

TEST_CASE("a frozen codec and a frozen encoder count whole on every rank, in float32") {
  const auto planned = [](const std::string& words) {
    const auto result = s2s::test::run_cli("plan --json " + s2s::test::source_dir() +
                                           "/configs/llama_mimi.yaml " + words);
    return nlohmann::json::parse(result.output);
  };
  const auto whole = planned("--mesh data=2");
  const auto& buffers = whole["buffers"];
  REQUIRE(buffers.size() == 2);
  CHECK(buffers[0]["part"] == "perception");
  CHECK(buffers[1]["part"] == "audio_codec");
  const int64_t codec = buffers[1]["bytes"];
  CHECK(codec > 200'000'000);  // Mimi's published sizes
  CHECK(codec == 4 * buffers[1]["elements"].get<int64_t>());
  const auto bytes_in = [](const nlohmann::json& plan) {
    return plan["per_rank"]["buffer_bytes"].get<int64_t>();
  };
  CHECK(bytes_in(whole) == codec + buffers[0]["bytes"].get<int64_t>());
  CHECK(bytes_in(planned("--mesh data=8 trainer.precision=bf16-true")) == bytes_in(whole));
  const auto fitted =
      planned("--mesh data=2 model.codec.name=mel_fsq '~model.codec.num_codebooks'");
  CHECK(bytes_in(fitted) < buffers[0]["bytes"].get<int64_t>() + 1'000'000);
  const auto text = s2s::test::run_cli("plan " + s2s::test::source_dir() +
                                       "/configs/llama_mimi.yaml --mesh data=2");
  CHECK_MESSAGE(s2s::test::has(text, " buffers, " + buffers[1]["elements"].dump() + " elements"),
                text.output);
}

TEST_CASE("an encoder that trains counts its shards") {
  const auto rank = [](const std::string& words) {
    const auto result =
        s2s::test::run_cli("plan --json " + kFolder + "plan_duplex.yaml --mesh data=2 " + words);
    return nlohmann::json::parse(result.output)["per_rank"];
  };
  const auto more = rank("model.encoder.encoder.n_layers=3");
  const auto fewer = rank("model.encoder.encoder.n_layers=2");
  // Of a layer of 256: two MLPs, attention with positions, convolutions, norms.
  const int64_t layer = 2 * (2 * 256 * 1024 + 1024 + 256) + 5 * 256 * 256 + 4 * 256 + 2 * 256 +
                        (512 * 256 + 512) + (256 * 9 + 256) + (256 * 256 + 256) + 6 * 2 * 256;
  CHECK(more["parameters"].get<int64_t>() - fewer["parameters"].get<int64_t>() == layer / 2);
  CHECK(more["buffer_bytes"] == fewer["buffer_bytes"]);
}

TEST_CASE("the plan of a codec needs its folder's config.json, not its weights") {
  const s2s::test::TemporaryFolder folder;
  const std::string words = "plan " + s2s::test::source_dir() + "/configs/llama_mimi.yaml " +
                            "'~model.codec.num_codebooks' model.codec.path=" + (folder / "");
  CHECK(s2s::test::run_cli(words).exit_code != 0);
  std::ofstream(folder / "config.json") << R"({"model_type": "mimi", "num_quantizers": 3})";
  const auto planned = s2s::test::run_cli(words);
  CHECK_MESSAGE(planned.exit_code == 0, planned.output);
  CHECK(s2s::test::has(planned, "audio_codec "));
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

TEST_CASE("a plan says whether it fits, with activations where their number is known") {
  const std::string plan = "plan " + kFolder + "plan_tinyllama.yaml --mesh data=4 ";
  const auto text = [&](const std::string& words) {
    return s2s::test::run_cli(plan + words).output;
  };
  CHECK(text("").find("fits") == std::string::npos);
  CHECK(text("--gpu-memory 80GB").find("\nfits        ") != std::string::npos);
  CHECK(text("--gpu-memory 80GB").find("GB on each of 4 ranks, without activations (--sequence-") !=
        std::string::npos);
  for (const char* const odd : {"80", "80x", "GB"}) {
    const auto refused = s2s::test::run_cli(plan + "--gpu-memory " + odd);
    CHECK_MESSAGE(refused.exit_code == 2, odd);
    CHECK_MESSAGE(
        refused.output.find("expected a size with a unit, for example 80GB") != std::string::npos,
        refused.output);
  }
  const std::string long_one = "--gpu-memory 8GB --sequence-length 4096 --batch-size 8";
  CHECK(text(long_one).find("\ntoo large   ") != std::string::npos);
  CHECK(text(long_one).find("--layouts lists what would fit") != std::string::npos);
  const auto json = nlohmann::json::parse(text("--json " + long_one));
  CHECK(json["device"]["fits"] == false);
  CHECK(json["device"]["bytes"] == 8e9);
  const double held = json["per_rank"]["parameter_bytes"].get<double>();
  CHECK(json["device"]["needed_bytes"].get<double>() > held);
}

TEST_CASE("layouts are listed with what to write, those that fit first and the cheapest first") {
  const std::string plan = "plan " + kFolder + "plan_tinyllama.yaml --layouts --world-size 4 ";
  const auto layouts = [&](const std::string& words) {
    return nlohmann::json::parse(s2s::test::run_cli(plan + "--json " + words).output)["layouts"];
  };
  const auto all = layouts("--sequence-length 512");
  CHECK(all.size() >= 12);
  double before = 0;
  for (const auto& one : all) {
    if (one["strategy"].get<std::string>().find("checkpointing") != std::string::npos) break;
    const double sent =
        one["sent_bytes_per_step"].get<double>() / one["sequences_per_step"].get<double>();
    CHECK(sent >= before);
    before = sent;
  }
  CHECK(before > 0);
  // Without a length, what a tensor axis sends is not known, and not cheapest for that.
  const auto open = layouts("");
  CHECK(open[0]["sent_bytes_known"] == true);
  CHECK(open[0]["strategy"].get<std::string>().find("tensor") == std::string::npos);
  CHECK(all[0]["fit"] == "");
  const auto some = layouts("--sequence-length 512 --gpu-memory 10GB");
  CHECK(some.size() == all.size());  // nothing has to go to the host
  CHECK(some[0]["bytes_per_rank"] < 10e9);
  CHECK(some[0]["fit"] != "too large");
  bool has_ended = false;  // those that fit
  for (const auto& one : some) {
    if (one["fit"] == "too large") has_ended = true;
    CHECK((one["fit"] == "too large") == has_ended);
  }
  CHECK(has_ended);
  // What is to be written gives the bytes that the table says.
  const std::string words = some[0]["strategy"];
  std::string overrides;
  for (size_t at = 0; at < words.size();) {
    const size_t end = std::min(words.find(' ', at), words.size());
    overrides += "trainer.strategy." + words.substr(at, end - at) + " ";
    at = end + 1;
  }
  const auto one = nlohmann::json::parse(
      s2s::test::run_cli("plan " + kFolder +
                         "plan_tinyllama.yaml --json --world-size 4 --sequence-length 512 "
                         "--gpu-memory 10GB " +
                         overrides)
          .output);
  CHECK(one["device"]["needed_bytes"] == some[0]["bytes_per_rank"]);
  const auto none = s2s::test::run_cli(plan + "--gpu-memory 10MB");
  CHECK(none.exit_code == 1);
  CHECK(none.output.find("offload=params") != std::string::npos);
  CHECK(none.output.find("none fits; use more ranks") != std::string::npos);
}
