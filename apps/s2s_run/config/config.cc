// s2s-run config show CONFIG [KEY...] [key=value...], config check CONFIG [key=value...]: prints
// the effective configuration, or some of its keys, with the origin of every value, and all
// findings of `train`. Does not allocate the model.

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "base/accelerator.h"
#include "checkpoint/checkpoint.h"
#include "config/config_tree.h"
#include "config/save_schedule.h"
#include "config/secrets.h"
#include "config/yaml_writer.h"
#include "eval/metrics/monitored_metric.h"
#include "run/described_model.h"
#include "run/run_builder.h"
#include "run/run_config.h"
#include "run/run_parts.h"
#include "s2s/foreign_text.h"
#include "s2s_run/config/config_arguments.h"
#include "s2s_run/data/data_inspect_source.h"
#include "s2s_run/engines/engine_file.h"
#include "s2s_run/plan/plan_inputs.h"
#include "s2s_run/subcommands.h"
#include "text/text_files.h"
#include "text/text_paths.h"

namespace s2s::run {

namespace {

using Json = nlohmann::ordered_json;

namespace fs = std::filesystem;

/// The check runs on the CPU, also on a machine without a GPU.
Config without_device(Config config) {
  config["trainer"]["accelerator"] = Config::scalar("cpu");
  return config;
}

bool has_commands(const Config& node) {
  if (node.is_scalar()) return node.text() == "command" || node.text().find("pipe:") == 0;
  return std::any_of(node.items().begin(), node.items().end(), has_commands) ||
         std::any_of(node.entries().begin(), node.entries().end(),
                     [](const auto& entry) { return has_commands(entry.second); });
}

class FileCheck {
 public:
  FileCheck(const RunConfig& config, RunCheck& check)
      : check_(check),
        config_(without_device(check.written)),
        registries_(config.registries()),
        builder_(config_, registries_, warnings_) {
    warnings_.send_to(
        [this](const std::string& message) { check_.notes.warnings.push_back(message); });
  }

  void run() {
    const Config* const synth = config_.find_path("data.synth.path");
    data_is_there_ = synth == nullptr || !synth->is_scalar() || fs::exists(synth->text());
    if (!data_is_there_) {
      check_.notes.others.push_back("data.synth: training makes " + synth->text() +
                                    " first; its content cannot be checked yet");
    }
    check_device();
    attempt([this] { open_tokenizer(); });
    attempt([this] { describe_model(); });
    attempt([this] { check_monitor(); });
    attempt([this] { builder_.loggers(); });
    attempt([this] { check_update_in_backward(trainer_settings(builder_)); });
    attempt([this] { link_name(builder_.settings(), {}, 1); });
    attempt([this] { check_start(); });
    attempt([this] { open_set("data.train_ds", *config_.find_path("data.train_ds")); });
    for (const auto& [name, block] : builder_.settings().validation_sets) {
      const std::string path = "data.validation_ds.datasets." + name;
      attempt([&, &set = block] { open_set(path, set); });
    }
    if (check_.findings.empty()) {
      attempt([this] { warn_of_memory(config_, registries_, {}, check_.notes.warnings); });
    }
  }

 private:
  template <class Body>
  void attempt(const Body& body) {
    try {
      body();
    } catch (const Error& error) {
      check_.findings.add(error);
    }
  }

  /// The check may run on another machine than the training.
  void check_device() {
    const Config* const asked = check_.written.find_path("trainer.accelerator");
    const std::string name = asked != nullptr && asked->is_scalar() ? asked->text() : "";
    if ((name == "gpu" || name == "cuda") && !has_accelerator_driver()) {
      check_.notes.warnings.push_back(
          "trainer.accelerator is " + name +
          ", but this machine has no NVIDIA driver; run the training on a machine with a GPU");
    }
  }

  /// Opens the tokenizer, unless training must create it first.
  void open_tokenizer() {
    const Config* const node = config_.find_path("model.tokenizer");
    const Config* const path = node == nullptr ? nullptr : node->find("path");
    const bool is_made = node != nullptr && (node->find("train") != nullptr || !data_is_there_);
    waits_ = is_made && path != nullptr && path->is_scalar() && !fs::exists(path->text());
    if (!waits_) tokenizer_ = builder_.tokenizer();
  }

  /// Builds the meta model with its tokenizer, and compares pretrained files with its sizes.
  void describe_model() {
    if (waits_ || !check_.findings.empty()) return;
    const std::unique_ptr<Model> model = builder_.described_model(tokenizer_.get());
    builder_.initial_values(*model);
  }

  void check_monitor() {
    const std::string fault =
        monitor_fault(builder_.settings(), run::describe_model(config_, registries_).metrics);
    if (!fault.empty()) check_.notes.warnings.push_back(fault);
  }

  /// Checks the checkpoint from which a new run starts.
  void check_start() {
    const ExpManagerBlock& manager = builder_.settings().exp_manager;
    const fs::path own = fs::path(manager.run_folder()) / "checkpoints/last";
    if (!manager.resume_from_checkpoint || (manager.resume_if_exists && fs::exists(own))) return;
    const std::string start = checkpoint_of(*manager.resume_from_checkpoint);
    require_checkpoint(start);
    check_same_parts(start, config_);
  }

  /// Opens a set and makes its first cut or batch.
  void open_set(const std::string& path, const Config& block) {
    if (has_commands(block)) return;
    if (names_cuts(block)) {
      if (data_is_there_ && first_cut(block, path) == nullptr) throw no_cuts(path);
      return;
    }
    const Config* const name = block.find("name");
    const bool is_text = name != nullptr && name->is_scalar() && name->text() == "text";
    if (is_text && !open_texts(path, block)) return;
    if (waits_ || !data_is_there_ || !check_.findings.empty()) return;
    const std::string set = path.substr(path.rfind('.') + 1);
    const std::shared_ptr<DataSource> source =
        path == "data.train_ds"
            ? std::shared_ptr<DataSource>(builder_.all_train_data(tokenizer_.get()))
            : builder_.validation_sources(tokenizer_.get()).at(set)({0, 1});
    if (source != nullptr) source->next();
  }

  /// Opens the files of a set of texts, which needs no tokenizer. False if training makes them.
  bool open_texts(const std::string& path, const Config& block) const {
    const Config* const files = block.find("path");
    if (files == nullptr || files->is_null()) return true;  // the source says so
    const std::vector<Config> one = {*files};
    for (const Config& file : files->is_list() ? files->items() : one) {
      const std::string name = file.as_string(path + ".path");
      if (!data_is_there_ && is_made(name)) return false;
      const data::TextFiles opened(data::text_paths(name, path));
    }
    return true;
  }

  /// Whether a file lies in the folder that `data.synth` makes.
  bool is_made(const std::string& file) const {
    const fs::path folder =
        fs::path(config_.find_path("data.synth.path")->text()).lexically_normal();
    const fs::path relative = fs::path(file).lexically_normal().lexically_relative(folder);
    return !relative.empty() && *relative.begin() != "..";
  }

  static Error no_cuts(const std::string& path) {
    return Error(ExitCode::kData, "data/empty",
                 path +
                     ": the set has no cuts; expected at least one; to see what its files contain: "
                     "s2s-run data inspect CONFIG --set " +
                     path.substr(path.rfind('.') + 1));
  }

  RunCheck& check_;
  const Config config_;
  const Registries& registries_;
  Warnings warnings_;
  RunBuilder builder_;
  std::unique_ptr<Tokenizer> tokenizer_;
  bool data_is_there_ = true;
  bool waits_ = false;  // the tokenizer does not exist yet
};

/// Opens the small files that a training run opens before its first step, without creating files or
/// running commands: the tokenizer, config.json and the headers of pretrained weights, and the
/// first cut or batch of each data set. (A large text file is given its index, as by training.)
/// Compares the memory estimate with the machine's memory. `check`: of `config`, for training,
/// without findings; receives findings and warnings.
void check_files(const RunConfig& config, RunCheck& check) { FileCheck(config, check).run(); }

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
  const RunConfig config(arguments, RunPurpose::kTrain, invocation);
  RunCheck checked = config.check();
  if (checked.findings.empty()) check_files(config, checked);
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
  std::printf("%s", engine_keys_page().c_str());
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
