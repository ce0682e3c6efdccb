// Plugins of somebody else: they are missing where a model is used, they throw, they crash.

#include <doctest/doctest.h>

#include <csignal>

#include "cli/train/tiny_run.h"
#include "common/contains.h"
#include "common/places.h"

using namespace s2s::test;
namespace fs = std::filesystem;

namespace {

const fs::path kFailing = fs::path(s2s::test::binary_dir()) / "tests/fixtures/plugins";

/// A run with the metric that fails, from its folder.
Outcome with_failing_metric(const fs::path& folder, const std::string& how) {
  return run_s2s(tiny_words("train", folder,
                            {"--plugin-path", (kFailing / "fails_late").string(),
                             "trainer.max_steps=4", "trainer.val_check_interval=1",
                             "model.metrics=[{name: fixture_fails_late, how: " + how + "}]"}));
}

/// `config` with `text` in place of the line that begins with `line`.
std::string with_line(std::string config, const std::string& line, const std::string& text) {
  const size_t begin = config.find(line);
  REQUIRE(begin != std::string::npos);
  const size_t end = config.find('\n', begin);
  return config.replace(begin, end - begin, text);
}

}  // namespace

TEST_CASE("an exception of a plugin names its file") {
  const TemporaryFolder folder;
  const Outcome outcome = with_failing_metric(folder.path() / "run", "throw");
  CAPTURE(outcome.output);
  CHECK(outcome.exit_code == 4);
  CHECK(contains(outcome.output,
                 "[plugin/exception] the plugin " +
                     (kFailing / "fails_late/libs2s_metric_fixture_fails_late.so").string() +
                     " threw an exception: bad number"));
  CHECK_FALSE(contains(outcome.output, "[internal]"));
}

TEST_CASE("a crash in a plugin names its file, and ends the process by its signal") {
  const TemporaryFolder folder;
  const Outcome outcome = with_failing_metric(folder.path() / "run", "crash");
  CAPTURE(outcome.output);
  CHECK(outcome.signal == SIGSEGV);
  CHECK(contains(outcome.output,
                 "[plugin/crash] the plugin " +
                     (kFailing / "fails_late/libs2s_metric_fixture_fails_late.so").string() +
                     " has crashed (SIGSEGV)"));
}

TEST_CASE("plugins that trained a model are not needed where it answers") {
  const TemporaryFolder folder;
  const fs::path checkpoint = folder.path() / "step=24";
  fs::copy(fs::canonical(uninterrupted_run() / "checkpoints/last"), checkpoint,
           fs::copy_options::recursive);
  std::string config = read_text(checkpoint / "config.yaml");
  config = with_line(config, "    name: adamw", "    name: acme.sgd\n    own_option: 3");
  config = with_line(config, "    name: cosine_annealing", "    name: acme.steps");
  write_text(checkpoint / "config.yaml",
             with_line(config, "exp_manager:",
                       "exp_manager:\n  loggers: [{name: acme.logger, project: p}]"));
  const Outcome answered =
      run_s2s({"generate", "--checkpoint", checkpoint.string(), "--input",
               (tiny_set() / "audio/dev").string(), "--output", (folder.path() / "out").string()});
  CAPTURE(answered.output);
  CHECK(answered.exit_code == 0);
  const Outcome validated = run_s2s({"validate", "--checkpoint", checkpoint.string(), "--report",
                                     (folder.path() / "report").string()});
  CAPTURE(validated.output);
  CHECK(validated.exit_code == 0);
  const Outcome trained = run_s2s({"config", "check", (checkpoint / "config.yaml").string()});
  CAPTURE(trained.output);
  CHECK(trained.exit_code == 3);
  for (const char* name : {"acme.sgd", "acme.steps", "acme.logger"}) {
    CHECK(contains(trained.output, name));
  }
}
