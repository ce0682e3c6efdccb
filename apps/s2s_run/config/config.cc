// s2s-run config show CONFIG [KEY...] [key=value...], config check CONFIG [key=value...]: prints
// the effective configuration, or some of its keys, with the origin of every value, and all
// findings of `train`, which both take the same steps (run_preparation.h). Does not allocate the
// model.

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <string>

#include "base/accelerator.h"
#include "config/config_tree.h"
#include "config/save_schedule.h"
#include "config/secrets.h"
#include "config/yaml_writer.h"
#include "run/run.h"
#include "run/run_config.h"
#include "run/run_preparation.h"
#include "s2s/foreign_text.h"
#include "s2s_run/config/config_arguments.h"
#include "s2s_run/subcommands.h"
#include "translate/translate.h"

namespace s2s::run {

namespace {

using Json = nlohmann::ordered_json;

/// The check runs on the CPU, and it may run on another machine than the training.
void check_device(RunCheck& check) {
  const Config* const asked = check.written.find_path("trainer.accelerator");
  const std::string name = asked != nullptr && asked->is_scalar() ? asked->text() : "";
  if ((name == "gpu" || name == "cuda") && !has_accelerator_driver()) {
    check.notes.warnings.push_back(
        "trainer.accelerator is " + name +
        ", but this machine has no NVIDIA driver; run the training on a machine with a GPU");
  }
}

/// Takes the steps that prepare a training (run_preparation.h). `check`: of `config`, without
/// findings; receives findings and warnings.
void check_steps(const RunConfig& config, const Invocation& invocation, RunCheck& check) {
  check_device(check);
  Run setup(config, invocation);
  setup.warnings().send_to(
      [&check](const std::string& message) { check.notes.warnings.push_back(message); });
  PreparationReport report = check_preparation(setup);
  check.findings = std::move(report.findings);
  for (std::string& note : report.notes) check.notes.others.push_back(std::move(note));
}

Json findings_json(const RunCheck& checked) {
  Json json = Json::array();
  for (const Error& error : checked.findings.errors()) {
    json.push_back({{"id", error.id()}, {"message", error.message()}});
  }
  return json;
}

Json notes_json(const ConfigNotes& notes) {
  return {{"notes", notes.all()}, {"warnings", notes.warnings}};
}

void print_notes(const char* indent, const ConfigNotes& notes,
                 std::string (*shown)(std::string_view)) {
  for (const std::string& note : notes.all()) {
    std::printf("%snote: %s\n", indent, shown(note).c_str());
  }
  for (const std::string& warning : notes.warnings) {
    std::printf("%swarning: %s\n", indent, shown(warning).c_str());
  }
}

void print_findings(std::FILE* out, const RunCheck& checked) {
  for (const Error& error : checked.findings.errors()) {
    std::fprintf(out, "error: %s\n", printable(error.what()).c_str());
  }
}

int exit_code(const RunCheck& checked) {
  return static_cast<int>(checked.findings.empty() ? ExitCode::kOk : ExitCode::kConfig);
}

/// When a new run of a configuration without findings saves first.
std::string first_save_of(const RunCheck& checked) {
  const auto read = [&]<class Block>(Block block, const char* path) {
    const Config* const node = checked.written.find_path(path);
    return node != nullptr && node->is_map() ? read_options<Block>(*node, path) : block;
  };
  const auto trainer = read(TrainerBlock(), "trainer");
  const auto saves = read(ExpManagerBlock(), "exp_manager").checkpoint_callback_params;
  return first_save_text(save_schedule(saves, trainer), 0, trainer.max_steps);
}

int run_check(const ConfigArguments& arguments, const Invocation& invocation) {
  const RunConfig config(arguments, RunPurpose::kTrain, invocation, "", ModelCheck::kLater);
  RunCheck checked = config.check();
  if (checked.findings.empty()) check_steps(config, invocation, checked);
  const std::string first_save = checked.findings.empty() ? first_save_of(checked) : "";
  if (invocation.json) {
    Json json = {{"findings", findings_json(checked)}};
    if (!first_save.empty()) json["first_checkpoint"] = first_save;
    json.update(notes_json(checked.notes));
    std::printf("%s\n", json.dump(2).c_str());
    return exit_code(checked);
  }
  print_findings(stdout, checked);
  print_notes("", checked.notes, printable);
  if (!first_save.empty()) std::printf("the first checkpoint is saved %s\n", first_save.c_str());
  if (checked.findings.empty()) std::printf("ok\n");
  return exit_code(checked);
}

bool is_key(const std::string& word) {
  const auto is_of_key = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '-';
  };
  return !word.empty() && word.front() != '-' && std::all_of(word.begin(), word.end(), is_of_key);
}

/// Removes the words that are keys from `words` and returns them; changes stay.
std::vector<std::string> take_keys(std::vector<std::string>& words) {
  const auto keys = std::stable_partition(words.begin(), words.end(),
                                          [](const std::string& word) { return !is_key(word); });
  std::vector<std::string> taken(keys, words.end());
  words.erase(keys, words.end());
  return taken;
}

/// The values of these keys at their paths; without keys, the whole configuration. Errors:
/// [config/no-key].
Config part_of(const Config& config, const std::vector<std::string>& keys) {
  if (keys.empty()) return config;
  Config part = Config::map();
  for (const std::string& key : keys) {
    const Config* const found = config.find_path(key);
    if (found == nullptr) {
      throw Error(ExitCode::kConfig, "config/no-key",
                  "the configuration has no '" + printable_name(key) +
                      "'; expected a key with dots, for example model.llm; without a key, the "
                      "whole configuration is shown");
    }
    at_path(part, key) = *found;
  }
  return part;
}

int run_show(ConfigArguments arguments, const Invocation& invocation) {
  const std::vector<std::string> keys = take_keys(arguments.overrides);
  const RunConfig config(arguments, RunPurpose::kTrain, invocation);
  const RunCheck& checked = config.check();
  const Config shown = part_of(shown_config(checked.config), keys);
  if (invocation.json) {
    Json json = {{"config", config_json(shown)},
                 {"origins", origins_json(shown)},
                 {"findings", findings_json(checked)}};
    json.update(notes_json(checked.notes));
    std::printf("%s\n", json.dump(2).c_str());
    return exit_code(checked);
  }
  YamlStyle style;
  style.show_origins = true;
  style.resolved = true;
  std::printf("%s", write_yaml(shown, style).c_str());
  print_notes("# ", checked.notes, printable_name);
  print_findings(stderr, checked);
  return exit_code(checked);
}

int run_keys() {
  std::printf("%s", interop::foreign_keys_page().c_str());
  return 0;
}

}  // namespace

void setup_config(const Command& program) {
  const Command group = program.group("config", "show or check a configuration");
  const Command show =
      group.command("show", "print the effective configuration with the origin of each value");
  add_config_arguments(
      show, show.runs(run_show),
      "keys to show, for example model.llm; overrides: key.path=value, ~key removes a key");
  show.json("print JSON");
  const Command check = group.command(
      "check",
      "report all problems that would stop training before its first step, without training");
  add_config_arguments(check, check.runs(run_check));
  check.json("print JSON");
  group
      .command("keys",
               "print what each key of DeepSpeed's, FSDP's and accelerate's files is here, as "
               "Markdown")
      .runs(run_keys);
}

}  // namespace s2s::run
