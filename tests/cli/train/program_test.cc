// A program of its own trains as s2s-run does.

#include <doctest/doctest.h>

#include "cli/train/tiny_run.h"
#include "common/places.h"

using namespace s2s::test;
namespace fs = std::filesystem;

namespace {

/// What `train_config` says and ends with.
Outcome train_with_program(const fs::path& run, const Words& more = {}) {
  Words words = tiny_words("train", run, more);
  words.front() = s2s::test::binary_dir() + "/lib/s2s/plugins";  // in place of the command
  words.emplace_back("~data.synth");                             // a block of s2s-run's
  return Process(words, {}, "bin/train_config").wait();
}

}  // namespace

TEST_CASE("a program that links s2s::run trains a configuration with the same numbers") {
  const TemporaryFolder folder;
  const Words few = {"trainer.max_steps=3"};
  const Outcome outcome = train_with_program(folder.path() / "own", few);
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
  train_tiny(folder.path() / "run", few);
  const auto own = metrics(folder.path() / "own"), expected = metrics(folder.path() / "run");
  REQUIRE(own.size() == 3);
  REQUIRE(expected.size() == 3);
  // The launcher of s2s-run makes MKL choose other kernels on AMD's processors (mkl_dispatch.cc).
  for (size_t i = 0; i < own.size(); ++i) {
    CHECK(own[i]["frames"] == expected[i]["frames"]);
    CHECK(own[i]["tokens"] == expected[i]["tokens"]);
    for (const char* key : {"loss", "text_loss", "audio_loss", "grad_norm"}) {
      CAPTURE(key);
      CHECK(own[i][key].get<double>() ==
            doctest::Approx(expected[i][key].get<double>()).epsilon(1e-5));
    }
  }
}

TEST_CASE("it is refused with the messages of s2s-run") {
  const TemporaryFolder folder;
  const Words wrong = {"trainer.max_stepz=3"};
  const Outcome own = train_with_program(folder.path() / "own", wrong);
  const Outcome run = run_s2s(tiny_words("train", folder.path() / "own", wrong));
  CHECK(own.exit_code == run.exit_code);
  CHECK(own.output.find("max_stepz") != std::string::npos);
  CHECK(run.output.find(own.output.substr(0, own.output.find('\n'))) != std::string::npos);
}
