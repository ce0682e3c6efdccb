// s2s-run bench model on the CPU.

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "cli/command.h"
#include "cli/duplex_of_nemo.h"
#include "common/temporary_folder.h"

using s2s::test::CommandResult;
using s2s::test::run_cli;

TEST_CASE("bench model says what a second trains, and where a step's time goes") {
  const s2s::test::TemporaryFolder folder;
  const std::string options = (folder.path() / "options.json").string();
  s2s::write_file_atomically(options, s2s::test::kDuplexOfNemo);
  const CommandResult run =
      run_cli("bench model --options " + options +
              " --device cpu --steps 2 --threads 1 --batch-size 2 --seconds 4 --ops 5 --profile " +
              (folder.path() / "step.json").string());
  REQUIRE_MESSAGE(run.exit_code == 0, run.output);
  const nlohmann::json result = nlohmann::json::parse(run.output);
  CHECK(result["device"] == "cpu");
  CHECK(result["generate_frame_ms"].get<double>() > 0);
  CHECK(result["first_generate_frame_ms"].get<double>() > 0);
  CHECK(result["losses"][1].get<double>() < result["losses"][0].get<double>());
  // A mean over the batch's frames: an untrained model guesses one of 96 text and of 16 + 3 audio
  // tokens. The options weigh the two losses by 3 and 4.
  const double of_guesses = 3 * std::log(96.0) + 4 * std::log(19.0);
  CHECK(result["losses"][0].get<double>() == doctest::Approx(of_guesses).epsilon(0.05));
  const double step_s = result["step_s"]["median"];
  CHECK(result["per_s"]["audio_hours"].get<double>() == doctest::Approx(2 * 4 / 3600.0 / step_s));
  // 4 s are 50 frames; the last one predicts nothing.
  CHECK(result["per_s"]["frames"].get<double>() == doctest::Approx(2 * 49 / step_s));
  CHECK(result["per_s"]["tokens"].get<double>() == doctest::Approx(2 * 49 * 5 / step_s));
  for (const char* part : {"mel features", "decoder", "decoder, backward", "rest"}) {
    CHECK_MESSAGE(result["split_ms"][part].get<double>() > 0, part);
  }
  CHECK(result["ops"].size() == 5);
  CHECK(result["ops"][0]["ms"].get<double>() > 0);
  CHECK(result["generate_ops"].size() == 5);
  std::ifstream timeline(folder.path() / "step.json");
  CHECK_FALSE(nlohmann::json::parse(timeline)["traceEvents"].empty());
}

TEST_CASE("bench model's initial values do not depend on the number of threads that draw them") {
  const s2s::test::TemporaryFolder folder;
  const std::string options = (folder.path() / "options.json").string();
  s2s::write_file_atomically(options, s2s::test::kDuplexOfNemo);
  const auto first_loss = [&](const std::string& threads) {
    const CommandResult run = run_cli(
        "bench model --options " + options + " --steps 1 --threads 1 --batch-size 1 --seconds 4",
        "OMP_NUM_THREADS=" + threads);
    REQUIRE_MESSAGE(run.exit_code == 0, run.output);
    return nlohmann::json::parse(run.output)["losses"][0].get<double>();
  };
  CHECK(first_loss("1") == first_loss("3"));
}
