// Every command that takes a configuration finds the same in it, all at once.

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/repository_configs.h"
#include "common/places.h"
#include "common/temporary_folder.h"

using s2s::test::CommandResult;
using s2s::test::has;
using s2s::test::run_cli;
using s2s::test::TemporaryFolder;

namespace {

namespace fs = std::filesystem;

/// The small configuration of the repository, changed by further words.
std::string tiny(const std::string& words) {
  return s2s::test::source_dir() + "/configs/tiny.yaml " + words;
}

/// Every command that runs a configuration, in a state where nothing can run.
std::vector<std::string> commands(const TemporaryFolder& folder) {
  const std::string nowhere = folder / "nothing";
  return {"config check ", "train ", "plan ", "validate --checkpoint " + nowhere + " ",
          "generate --checkpoint " + nowhere + " --output " + nowhere + " --input " + nowhere +
              ".wav -- "};
}

}  // namespace

TEST_CASE(
    "three mistakes in three blocks are three findings of every command, which runs nothing") {
  const TemporaryFolder folder;
  const std::string file = folder.write("run.yaml",
                                        "model:\n"
                                        "  type: duplex_s2s\n"
                                        "  llm: { name: llama, hiden_size: 64 }\n"
                                        "  encoder: { name: fastconformer }\n"
                                        "  codec: { name: mel_fsq, sample_rate: 16000 }\n"
                                        "  optimizer: { name: adamw }\n"
                                        "  lr_scheduler: { name: cosine_annealing, max_steps: 9 }\n"
                                        "data:\n"
                                        "  train_ds: { name: cuts, cuts_path: a, batchsize: 4 }\n"
                                        "  validation_ds: { datasets: { a: { name: cuts } } }\n"
                                        "trainer:\n"
                                        "  max_steps: 9\n"
                                        "  strategy: { name: single }\n"
                                        "exp_manager: { explicit_log_dir: " +
                                            folder / "run" + " }\n");
  for (const std::string& command : commands(folder)) {
    const CommandResult result = run_cli(command + file + " trainer.acumulate_grad_batches=2");
    CAPTURE(command);
    CAPTURE(result.output);
    CHECK(result.exit_code == 3);
    CHECK(has(result, "[config/unknown-key] unknown key 'hiden_size' in model.llm (" + file +
                          ":3:23); did you mean 'hidden_size'?"));
    CHECK(has(result, "[config/unknown-key] unknown key 'batchsize' in data.train_ds (" + file +
                          ":9:41); did you mean 'batch_size'?"));
    CHECK(has(result,
              "[config/unknown-key] unknown key 'acumulate_grad_batches' in trainer "
              "(command line: trainer.acumulate_grad_batches=2); did you mean "
              "'accumulate_grad_batches'?"));
  }
  CHECK_FALSE(fs::exists(folder / "run"));
}

TEST_CASE("every command finds the same single mistake") {
  const TemporaryFolder folder;
  const std::vector<std::pair<std::string, std::string>> mistakes = {
      {"modle.x=1", "[config/unknown-key] unknown key 'modle'"},
      {"max_steps=9", "did you mean 'model.lr_scheduler.max_steps' or 'trainer.max_steps'?"},
      {"trainer.lr=1e-4", "did you mean 'model.optimizer.lr'?"},
      {"trainer.precision=bf17", "[config/choice] trainer.precision"},
      {"trainer.strategy.tensor=2", "[config/unknown-key] unknown key 'tensor'"},
      {"exp_manager.checkpoint_callback_params.top=2", "unknown key 'top' in exp_manager.check"},
      {"exp_manager.max_time_per_run=4h", "[config/duration]"},
      {"'model.freeze_params=[(]'", "[config/pattern] model.freeze_params.0"},
      {"'model.stages=[{from_stepp: 1}]'", "unknown key 'from_stepp' in model.stages.0"},
      {"model.encoder.encoder.n_layer=2", "did you mean 'n_layers'?"},
      {"model.optimizer.betas=[0.9]", "[config/bounds] model.optimizer.betas"},
      {"model.lr_scheduler.warmup_steps=10", "[schedule/steps] model.lr_scheduler"},
      {"data.source_sample_rate=8000", "[model/sample-rate]"},
      {"data.train_ds.seed=x", "[config/type] data.train_ds.seed"},
      {"data.validation_ds.repeat=true", "[config/validation-repeat]"},
      {"data.validation_ds.datasets.dev.shufle=1", "did you mean 'shuffle'?"},
      {"data.synth.sizes=tiny", "unknown key 'sizes' in data.synth"},
      {"plugins.pats=[x]", "did you mean 'paths'?"},
  };
  for (const auto& [word, expected] : mistakes) {
    for (const std::string& command : commands(folder)) {
      const CommandResult result = run_cli(command + tiny(word + " tiny.run=/dev/null/run"));
      CAPTURE(command);
      CAPTURE(result.output);
      CHECK(result.exit_code == 3);
      CHECK(has(result, expected));
    }
  }
}

TEST_CASE("the configurations of the repository lack nothing but the data of the demo") {
  const s2s::test::TemporaryFolder folder;
  const std::string fresh = "config check " + s2s::test::source_dir() +
                            "/configs/tiny.yaml tiny.data=" + folder.path().string() +
                            "/data tiny.run=" + folder.path().string();
  const CommandResult tiny_result = run_cli(fresh);
  CAPTURE(tiny_result.output);
  CHECK(tiny_result.exit_code == 0);
  CHECK(tiny_result.output.ends_with("\nok\n"));
  const CommandResult demo = run_cli("config check --json " + s2s::test::source_dir() +
                                     "/configs/demo.yaml demo.data=" + folder.path().string());
  const nlohmann::json report = nlohmann::json::parse(demo.output);
  CHECK_FALSE(report["findings"].empty());
  for (const auto& finding : report["findings"]) {
    CHECK(finding["id"] == "data/missing-file");
  }
}

TEST_CASE("each configuration of the repository says what it is for, how to start it, and is ok") {
  const s2s::test::TemporaryFolder folder;
  for (const std::string& path : s2s::test::repository_configs()) {
    const std::string name = std::filesystem::path(path).filename();
    std::ifstream file(path);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    CAPTURE(path);
    CHECK(text.starts_with("# "));
    CHECK(text.substr(0, text.find("\n\n")).find("configs/" + name) != std::string::npos);
    if (name == "demo.yaml") continue;  // apps/demo/run.sh makes its data
    // Where nothing lies, data.synth makes the data, and nothing of them is missing.
    const CommandResult result =
        s2s::test::run_shell("cd " + folder.path().string() + " && " + s2s::test::binary_dir() +
                             "/bin/s2s-run config check " + path);
    CAPTURE(result.output);
    CHECK(result.exit_code == 0);
    CHECK(result.output.ends_with("ok\n"));
  }
}

TEST_CASE("config show says why validation sets end") {
  const CommandResult result = run_cli("config show --json " + tiny(""));
  const auto json = nlohmann::json::parse(result.output);
  CHECK(json["config"]["data"]["validation_ds"]["datasets"]["dev"]["repeat"] == false);
  CHECK(json["origins"]["data.validation_ds.datasets.dev.repeat"] == "default of validation sets");
  CHECK(json["config"]["data"]["train_ds"]["repeat"] == true);
}

TEST_CASE("a plugin folder that is not there is a finding beside the others") {
  const CommandResult result =
      run_cli("train " + tiny("plugins.paths=[no/such/folder] trainer.sed=1"));
  CAPTURE(result.output);
  CHECK(result.exit_code == 3);
  CHECK(has(result, "[plugin/directory]"));
  CHECK(has(result, "did you mean 'seed'?"));
}

TEST_CASE("findings in blocks that a command reads early are told once") {
  const CommandResult result =
      run_cli("train " + tiny("trainer.max_stepz=3 exp_manager.resume_if_exist=true"));
  CHECK(result.exit_code == 3);
  for (const std::string key : {"'max_stepz'", "'resume_if_exist'"}) {
    CAPTURE(key);
    const size_t first = result.output.find(key);
    CHECK(first != std::string::npos);
    CHECK(result.output.find(key, first + 1) == std::string::npos);
  }
}
