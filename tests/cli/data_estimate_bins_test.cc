#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "common/contains.h"
#include "common/places.h"
#include "common/temporary_folder.h"
#include "core/samplers/sampler_of_spec.h"

using namespace s2s::test;
using nlohmann::json;

namespace {

// A reference row whose cuts are in a manifest.
json write_set(const TemporaryFolder& dir) {
  std::ifstream file(s2s::test::source_dir() + "/tests/reference/data/nemo_bins.json");
  const json row = json::parse(file)[1];
  std::ofstream manifest(dir / "cuts.jsonl");
  for (const auto& cut : s2s::data::generated_cuts(row["cuts"])) {
    const double duration = cut->duration_s;
    manifest << json{{"id", cut->id},
                     {"start", 0},
                     {"duration", duration},
                     {"channel", 0},
                     {"supervisions", json::array()},
                     {"recording",
                      {{"id", cut->id},
                       {"sources", {{{"type", "file"}, {"channels", {0}}, {"source", "a.wav"}}}},
                       {"sampling_rate", 16000},
                       {"num_samples", std::llround(duration * 16000)},
                       {"duration", duration}}},
                     {"type", "MonoCut"}}
                    .dump()
             << '\n';
  }
  return row;
}

}  // namespace

TEST_CASE("data estimate-bins prints lhotse's bounds in text and in JSON") {
  const TemporaryFolder dir;
  const json row = write_set(dir);
  const std::string command =
      "data estimate-bins " + (dir / "cuts.jsonl") + " --num-buckets " + row["num_buckets"].dump();
  const CommandResult out = run_cli(command + " --json");
  INFO(out.output);
  REQUIRE(out.exit_code == 0);
  const json report = json::parse(out.output);
  CHECK(report["used_cuts"] == row["cuts"]["count"]);
  const auto expected = row["bins"].get<std::vector<double>>();
  const auto found = report["bucket_duration_bins"].get<std::vector<double>>();
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    CHECK(found[i] == std::nearbyint(expected[i] * 1e5) / 1e5);
  }
  const CommandResult text = run_cli(command);
  CHECK(contains(text.output, "bucket_duration_bins: ["));
  CHECK(contains(text.output, "max_duration: "));
}

TEST_CASE("data estimate-bins says what NeMo's scripts print of the same sources") {
  const std::string data = s2s::test::source_dir() + "/tests/reference/data";
  std::ifstream file(data + "/nemo_bins_scripts.json");
  for (const json& row : json::parse(file)) {
    std::string command = "data estimate-bins --seed 5 --json";
    for (std::string argument : row["arguments"].get<std::vector<std::string>>()) {
      if (argument == "-1") argument = "0";  // all
      if (argument == "--token_outlier_threshold") argument = "--token-outliers";
      command += " '" + argument + "'";
    }
    const CommandResult out = run_cli(command, "cd " + data + "/nemo_loader &&");
    INFO(command << '\n' << out.output);
    REQUIRE(out.exit_code == 0);
    const json report = json::parse(out.output);
    const json& expected = row["options"];
    const auto same = [&](const char* key) {
      CHECK(report[key] == json::parse(expected[key].get<std::string>()));
    };
    same("num_buckets");
    same("bucket_duration_bins");
    same(row["is_2d"].get<bool>() ? "max_tps" : "max_duration");
    if (!row["used"].is_null()) CHECK(report["used_cuts"] == row["used"]);
  }
}

TEST_CASE("data estimate-bins leaves out cuts, and says how many") {
  const TemporaryFolder dir;
  write_set(dir);
  const std::string command = "data estimate-bins " + (dir / "cuts.jsonl") + " -b 3 ";
  const CommandResult all = run_cli(command + "-l 3 -u 10");
  INFO(all.output);
  CHECK(all.exit_code == 0);
  CHECK(contains(all.output, "Outside the duration limits and skipped: 658 of 1000 cuts."));
  const json some = json::parse(run_cli(command + "-n 50 --json").output);
  CHECK(some["used_cuts"] == 50);
}

TEST_CASE("data estimate-bins ends in one message for sets and arguments that do not do") {
  const TemporaryFolder dir;
  write_set(dir);
  const CommandResult few = run_cli("data estimate-bins -n 5 " + (dir / "cuts.jsonl"));
  CHECK(few.exit_code == 5);
  CHECK(contains(few.output, "[data/too-few-cuts]"));
  const CommandResult missing = run_cli("data estimate-bins " + (dir / "none.jsonl"));
  CHECK(missing.exit_code == 5);
  CHECK(contains(missing.output, "[data/missing-file]"));
  CHECK(run_cli("data estimate-bins").exit_code == 2);
  CHECK(run_cli("data estimate-bins -b 0 " + (dir / "cuts.jsonl")).exit_code == 2);
}
