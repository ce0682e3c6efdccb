// s2s-run config show|check, as a user runs it.

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "common/places.h"
#include "common/temporary_folder.h"

using s2s::test::CommandResult;
using s2s::test::has;
using s2s::test::run_cli;

namespace {

struct ConfigFile {
  explicit ConfigFile(const std::string& text) : path(folder.write("run.yaml", text)) {}
  s2s::test::TemporaryFolder folder;
  std::string path;
};

constexpr const char* kGood =
    "data:\n"
    "  train_ds: { name: cuts, cuts_path: a.jsonl, batch_size: 4 }\n"
    "trainer: { max_steps: 10, logger: null }\n";

}  // namespace

TEST_CASE("config check says ok, and notes what has no effect") {
  const ConfigFile file(std::string(kGood) + "model: { type: null }\n");
  const CommandResult bad = run_cli("config check " + file.path);
  CAPTURE(bad.output);
  CHECK(bad.exit_code == 3);
  CHECK(has(bad, "[config/type] model.type"));
  CHECK(has(bad, "note: ignored: trainer.logger (" + file.path + ":3:27)"));
}

TEST_CASE("config check prints all findings at once and ends with 3") {
  const ConfigFile file(
      "data:\n  train_ds: { name: cuts, cuts_paht: a.jsonl }\n"
      "trainer:\n  max_steps: ten\n  gradient_clip: 1\nmodel: { type: no_such_model }\n");
  const CommandResult result = run_cli("config check " + file.path);
  CAPTURE(result.output);
  CHECK(result.exit_code == 3);
  CHECK(has(result, "unknown key 'cuts_paht' in data.train_ds (" + file.path + ":2:27); did you " +
                        "mean 'cuts_path'?"));
  CHECK(has(result, "trainer.max_steps (" + file.path + ":4:3): expected an integer"));
  CHECK(has(result, "did you mean 'gradient_clip_val'?"));
  CHECK(has(result, "[plugin/unknown]"));
}

TEST_CASE("config show prints values with the place each came from") {
  const ConfigFile file(kGood);
  const CommandResult result = run_cli("config show " + file.path + " trainer.max_steps=20");
  CAPTURE(result.output);
  CHECK(has(result, "# command line: trainer.max_steps=20"));
  CHECK(has(result, "# " + file.path + ":2:47"));
  CHECK(has(result, "# default of data:cuts"));
  CHECK(has(result, "# default of trainer"));
}

TEST_CASE("config show prints the keys that are asked for, at their places") {
  const ConfigFile file(kGood);
  const CommandResult result =
      run_cli("config show " + file.path + " data.train_ds.batch_size trainer.max_steps=20");
  CAPTURE(result.output);
  CHECK(has(result, "data:\n  train_ds:\n    batch_size: 4"));
  CHECK_FALSE(has(result, "max_steps: 20"));
  const CommandResult json = run_cli("config show --json " + file.path + " trainer.max_steps");
  CHECK(nlohmann::json::parse(json.output)["config"] ==
        nlohmann::json{{"trainer", {{"max_steps", 10}}}});
  const CommandResult none = run_cli("config show " + file.path + " trainer.steps");
  CHECK(none.exit_code == 3);
  CHECK(has(none, "[config/no-key] the configuration has no 'trainer.steps'"));
}

TEST_CASE("config show as JSON gives config, origins and findings") {
  const ConfigFile file(kGood);
  const CommandResult result = run_cli("config show --json " + file.path);
  const auto json = nlohmann::json::parse(result.output);
  CHECK(json["config"]["data"]["train_ds"]["batch_size"] == 4);
  CHECK(json["origins"]["data.train_ds.batch_size"] == file.path + ":2:47");
  CHECK(json["findings"].size() == 3);  // model.type, strategy, optimizer
  CHECK(json["findings"][0]["id"] == "config/missing");
  CHECK(result.exit_code == 3);
}

TEST_CASE("a config file that is not there or not YAML ends with 3 and one message") {
  const ConfigFile file("a: [1");
  const CommandResult syntax = run_cli("config check " + file.path);
  CHECK(syntax.exit_code == 3);
  CHECK(has(syntax, "error: [config/syntax] " + file.path + ":"));
  const CommandResult missing = run_cli("config check " + file.folder / "rnu.yaml");
  CHECK(missing.exit_code == 3);
  CHECK(has(missing, "did you mean '" + file.path + "'?"));
  CHECK(run_cli("config check").exit_code == 2);
}

TEST_CASE("config check opens sets of texts, and finds what train finds") {
  const s2s::test::TemporaryFolder folder;
  const std::string text = folder / "text";
  REQUIRE(run_cli("data synth --text --tiny " + text).exit_code == 0);
  const std::string check = "config check " + s2s::test::source_dir() +
                            "/configs/text.yaml data.synth.size=tiny text.data=" + text + " ";
  const std::string words = folder.write("words.jsonl", "{\"words\": \"x\"}\n");
  const CommandResult good = run_cli(check);
  CHECK_MESSAGE(good.exit_code == 0, good.output);
  for (const char* const set : {"data.train_ds.path=", "data.validation_ds.datasets.dev.path="}) {
    const CommandResult missing = run_cli(check + set + (folder / "nosuch.jsonl"));
    CAPTURE(missing.output);
    CHECK(missing.exit_code == 3);
    CHECK(has(missing, "[data/missing-file]"));
  }
  // The tokenizer is not there before the first run; the files of texts are.
  const CommandResult later = run_cli("config check " + s2s::test::source_dir() +
                                      "/configs/text.yaml text.data=" + (folder / "later") +
                                      " data.train_ds.path=" + (folder / "nosuch.jsonl"));
  CHECK(has(later, "[data/missing-file]"));
  const CommandResult train = run_cli("train" + check.substr(12) + "trainer.max_steps=24 " +
                                      "exp_manager.explicit_log_dir=" + (folder / "run"));
  REQUIRE_MESSAGE(train.exit_code == 0, train.output);
  const CommandResult keys = run_cli(check + "data.train_ds.path=" + words);
  CHECK_MESSAGE(has(keys, "[data/text-keys]"), keys.output);
}

TEST_CASE("model.lora takes the keys of PEFT's LoraConfig as PEFT reads them") {
  const auto show = [&](const std::string& lora) {
    return run_cli("config show " + s2s::test::source_dir() +
                   "/configs/text.yaml model.lora 'model.lora={r: 4, " + lora + "}'");
  };
  const CommandResult pattern = show("target_modules: \".*\\\\.(q_proj|v_proj)\"");
  CAPTURE(pattern.output);
  CHECK(pattern.exit_code == 0);
  CHECK(has(pattern, "target_pattern: \".*\\\\.(q_proj|v_proj)\""));
  CHECK(has(show("target_modules: all-linear"), "target_modules: [all-linear]"));
  CHECK(has(show("layers_to_transform: 1, layers_pattern: layers"), "layers_to_transform: [1]"));
  const CommandResult idle = show(
      "bias: none, use_dora: false, init_lora_weights: true, modules_to_save: null, "
      "inference_mode: false, fan_in_fan_out: true");
  CAPTURE(idle.output);
  CHECK(idle.exit_code == 0);
  CHECK(has(idle, "ignored: model.lora.bias"));
  CHECK(has(idle, "ignored: model.lora.fan_in_fan_out"));
  CHECK(has(show("bias: all"), "[lora/adapter] model.lora: 'bias' is \"all\", expected none"));
  CHECK(has(show("use_dora: true"), "unknown key 'use_dora' in model.lora"));
  CHECK(has(show("target_modules: q_proj"), "[lora/targets]"));  // no whole name
}

TEST_CASE("model.lora without r has the rank of its adapter, or PEFT's default") {
  const s2s::test::TemporaryFolder folder;
  const std::string adapter = s2s::test::source_dir() + "/tests/reference/data/peft_lora";
  const auto show = [&](const std::string& lora) {
    return run_cli("config show " + s2s::test::source_dir() +
                   "/configs/text.yaml model.lora 'model.lora=" + lora + "'");
  };
  const CommandResult stored = show("{path: " + adapter + "}");
  CAPTURE(stored.output);
  CHECK(has(stored, "note: model.lora.r is "));
  CHECK_FALSE(has(stored, "r: 0"));
  CHECK_FALSE(has(stored, "r: 8  # default"));
  const CommandResult fresh = show("{lora_alpha: 16, target_modules: [q_proj]}");
  CAPTURE(fresh.output);
  CHECK(has(fresh, "r: 8"));
  CHECK(has(fresh, "model.lora.r is 8, PEFT's default; r: 0 turns adapters off"));
  const CommandResult off = show("{r: 0, lora_alpha: 16}");
  CHECK(has(off, "r: 0"));
  CHECK(has(off, "is 0: no adapters, and the other keys of model.lora have no effect"));
  CHECK(has(show("{enabled: false, r: 4}"), "ignored: model.lora"));
  const CommandResult missing = show("{path: nosuch}");
  CAPTURE(missing.output);
  CHECK(missing.exit_code == 3);
  CHECK(has(missing, "[lora/adapter] model.lora.path (command line: model.lora={path: nosuch})"));
  CHECK(has(missing, "\"nosuch\" has no adapter_config.json"));
}
