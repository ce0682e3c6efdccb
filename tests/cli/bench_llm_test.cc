// s2s-run bench llm on the CPU: what it trains is checked, what it takes is not.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "common/temporary_folder.h"

using s2s::test::CommandResult;
using s2s::test::has;
using s2s::test::run_cli;

namespace {

/// Threads that wait for each other take long on a busy machine.
constexpr const char* kOneThread = "OMP_NUM_THREADS=1";
constexpr const char* kSmall = "--device cpu --positions 32 --batch-size 2 --steps 2 --warm-up 2 ";

nlohmann::json bench_llm(const std::string& words) {
  const CommandResult result = run_cli("bench llm --json " + (kSmall + words), kOneThread);
  REQUIRE_MESSAGE(result.exit_code == 0, result.output);
  return nlohmann::json::parse(result.output);
}

double first_loss(const nlohmann::json& result) { return result["losses"][0].get<double>(); }

}  // namespace

TEST_CASE("bench llm trains the tiny model and says what a step is made of") {
  const nlohmann::json result = bench_llm("--peak-tflops 2");
  CHECK(result["device"] == "cpu");
  // Embedding and head, and two layers.
  CHECK(result["num_parameters"] ==
        2 * 512 * 64 + 64 + 2 * (2 * 64 + 64 * (64 + 32 + 32 + 64) + 3 * 64 * 176));
  CHECK(std::abs(first_loss(result) - std::log(512)) < 0.1);
  CHECK(result["losses"][1].get<double>() < first_loss(result));
  CHECK(result["gradient_norm"].get<double>() > 0);
  CHECK(result["step_s"]["p10"] <= result["step_s"]["median"]);
  CHECK(result["step_s"]["median"] <= result["step_s"]["p90"]);
  CHECK(result["operators_per_step"].get<int64_t>() > 100);
  CHECK(result["memory_bytes"]["resident_peak"].get<int64_t>() > 0);
  const double step_s = result["step_s"]["median"];
  const double products = 2 * 64 * (64 + 32 + 32 + 64 + 3 * 176) + 64 * 512;
  const double pairs = 2 * 64 * 32;
  const double per_token = 6 * products + 12 * pairs;
  CHECK(result["mfu"]["teraflops_full"].get<double>() ==
        doctest::Approx(64 * per_token / step_s * 1e-12));
  CHECK(result["mfu"]["full"].get<double>() / result["mfu"]["causal"].get<double>() ==
        doctest::Approx(per_token / (per_token - 6 * pairs)));
  CHECK(result["mfu"]["peak_teraflops"] == 2);
  CHECK(result["attention"]["asked"] == "auto");
  CHECK(result["attention"]["used"] ==
        nlohmann::json::parse(R"([{"kernel": "flash", "shape": [2, 4, 32, 16]}])"));
}

TEST_CASE("bench llm trains the same with the plain formula of attention") {
  const nlohmann::json math = bench_llm("--attention math --no-ceilings");
  CHECK(math["attention"]["asked"] == "math");
  CHECK(math["attention"]["used"][0]["kernel"] == "math");
  CHECK(first_loss(math) == doctest::Approx(first_loss(bench_llm("--no-ceilings"))).epsilon(1e-5));
}

TEST_CASE("bench llm measures products of the model's own shapes") {
  const nlohmann::json ceilings = bench_llm("")["ceilings"];
  const std::map<std::string, std::pair<int, int>> sizes = {{"qkv", {64, 128}},
                                                            {"o", {64, 64}},
                                                            {"gate_up", {64, 352}},
                                                            {"down", {176, 64}},
                                                            {"head", {64, 512}}};
  CHECK(ceilings["products"].size() == sizes.size());
  for (const auto& product : ceilings["products"]) {
    const auto [inner, columns] = sizes.at(product["name"]);
    CHECK(product["rows"] == 64);
    CHECK(product["inner"] == inner);
    CHECK(product["columns"] == columns);
    CHECK(product["forward_teraflops"].get<double>() > 0);
  }
  CHECK(ceilings["copy_gigabytes_per_s"].get<double>() > 0);
  CHECK(ceilings["passes"].size() == 3);
  CHECK(ceilings["attainable_step_s"].get<double>() > 0);
}

TEST_CASE("what bench llm exports is the model and the batch that it trains") {
  const s2s::test::TemporaryFolder folder;
  const std::string exported = (folder.path() / "exported").string();
  const std::string words = "--no-ceilings --precision bf16-true ";
  const nlohmann::json seeded = bench_llm(words + "--export " + exported);
  const nlohmann::json read = bench_llm(words + "--preset " + exported);
  CHECK(first_loss(read) == first_loss(seeded));
  CHECK(read["gradient_norm"] == seeded["gradient_norm"]);
  for (const char* file : {"config.json", "model.safetensors", "batch.safetensors", "bench.json"}) {
    CHECK(std::filesystem::exists(std::filesystem::path(exported) / file));
  }
  const CommandResult again =
      run_cli("bench llm " + (kSmall + words) + "--export " + exported, kOneThread);
  CHECK(again.exit_code == 5);
  CHECK_MESSAGE(has(again, "[io/exists]"), again.output);
}

TEST_CASE("what bench llm recomputes changes no number, and other options are run") {
  const nlohmann::json plain = bench_llm("--no-ceilings");
  for (const char* what : {"full", "every:2", "norm_and_mlp"}) {
    const nlohmann::json result = bench_llm(std::string("--no-ceilings --recompute ") + what);
    CHECK(first_loss(result) == doctest::Approx(first_loss(plain)).epsilon(1e-6));
    CHECK(result["gradient_norm"].get<double>() ==
          doctest::Approx(plain["gradient_norm"].get<double>()).epsilon(1e-4));
  }
  const nlohmann::json mixed =
      bench_llm("--no-ceilings --precision bf16-mixed --init fast --clip 0.5");
  CHECK(std::abs(first_loss(mixed) - std::log(512)) < 0.1);
  CHECK(mixed["precision"] == "bf16-mixed");
}

TEST_CASE("bench llm writes a timeline of a step") {
  const s2s::test::TemporaryFolder folder;
  const std::string trace = (folder.path() / "trace.json").string();
  bench_llm("--no-ceilings --profile " + trace);
  std::ifstream file(trace);
  const nlohmann::json events = nlohmann::json::parse(file)["traceEvents"];
  const bool has_products = std::any_of(events.begin(), events.end(), [](const auto& event) {
    return event.value("name", "") == "aten::mm";
  });
  CHECK(has_products);
}

TEST_CASE("bench llm prints tables, and says what an option takes") {
  const CommandResult table = run_cli(std::string("bench llm ") + kSmall, kOneThread);
  CHECK(table.exit_code == 0);
  for (const char* part : {"gradient norm", "tokens", "MFU", "operators", "gate_up", "rms_norm"}) {
    CHECK_MESSAGE(has(table, part), table.output);
  }
  const CommandResult preset = run_cli("bench llm --preset no/such");
  CHECK(preset.exit_code == 2);
  CHECK_MESSAGE(has(preset, "'no/such'; expected tiny, 1.1b, 8b or a Hugging Face folder"),
                preset.output);
  const CommandResult recompute = run_cli("bench llm --recompute every:0");
  CHECK(recompute.exit_code == 2);
  CHECK_MESSAGE(has(recompute, "'every:0'; expected none, full, every:N or norm_and_mlp"),
                recompute.output);
}
