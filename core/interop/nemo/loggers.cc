// Translates the loggers of NeMo's exp_manager and of Hugging Face's report_to.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "config/config_errors.h"
#include "config/yaml_writer.h"
#include "nemo/nemo_model.h"
#include "s2s/foreign_text.h"

namespace s2s::interop {
namespace {

struct NemoLogger {
  const char* logger;
  const char* key;
  const char* keywords;
};

/// NeMo's keys of exp_manager.
constexpr std::array kNemoLoggers = {
    NemoLogger{"tensorboard", "create_tensorboard_logger", "summary_writer_kwargs"},
    NemoLogger{"wandb", "create_wandb_logger", "wandb_logger_kwargs"},
    NemoLogger{"mlflow", "create_mlflow_logger", "mlflow_logger_kwargs"},
};
constexpr std::array kAbsentLoggers = {
    NemoLogger{"DLLogger", "create_dllogger_logger", "dllogger_logger_kwargs"},
    NemoLogger{"ClearML", "create_clearml_logger", "clearml_logger_kwargs"},
    NemoLogger{"Neptune", "create_neptune_logger", "neptune_logger_kwargs"},
};

struct Keyword {
  std::string_view logger, theirs;
  const char* ours;  // "": without effect
  const char* why = "";
};

constexpr const char* kOffline = "runs are always written to files; wandb sync sends them";
constexpr const char* kSameRecord = "a resumed run always continues its record";
constexpr const char* kNoModels = "checkpoints stay in the run folder";
constexpr const char* kGivenFolder = "the run folder is the one given";

/// Arguments of Lightning's TensorBoardLogger, WandbLogger and MLFlowLogger, and of SummaryWriter
/// and wandb.init, which receive some.
constexpr std::array kKeywords = {
    Keyword{"tensorboard", "save_dir", "save_dir"},
    Keyword{"tensorboard", "log_dir", "save_dir"},
    Keyword{"tensorboard", "sub_dir", "sub_dir"},
    Keyword{"tensorboard", "prefix", "prefix"},
    Keyword{"tensorboard", "flush_secs", "flush_secs"},
    Keyword{"tensorboard", "filename_suffix", "filename_suffix"},
    Keyword{"tensorboard", "name", "", kGivenFolder},
    Keyword{"tensorboard", "version", "", kGivenFolder},
    Keyword{"tensorboard", "comment", "", kGivenFolder},
    Keyword{"tensorboard", "log_graph", "", "the graph of a model is not logged"},
    Keyword{"tensorboard", "default_hp_metric", "", "train_loss and val_loss are the metrics"},
    Keyword{"tensorboard", "max_queue", "", "the buffer is written by age and size"},
    Keyword{"tensorboard", "purge_step", "", kSameRecord},
    Keyword{"wandb", "project", "project"},
    Keyword{"wandb", "name", "run_name"},
    Keyword{"wandb", "entity", "entity"},
    Keyword{"wandb", "group", "group"},
    Keyword{"wandb", "job_type", "job_type"},
    Keyword{"wandb", "notes", "notes"},
    Keyword{"wandb", "tags", "tags"},
    Keyword{"wandb", "id", "id"},
    Keyword{"wandb", "version", "id"},
    Keyword{"wandb", "save_dir", "save_dir"},
    Keyword{"wandb", "dir", "save_dir"},
    Keyword{"wandb", "prefix", "prefix"},
    Keyword{"wandb", "resume", "", kSameRecord},
    Keyword{"wandb", "offline", "", kOffline},
    Keyword{"wandb", "mode", "", kOffline},
    Keyword{"wandb", "anonymous", "", kOffline},
    Keyword{"wandb", "log_model", "", kNoModels},
    Keyword{"wandb", "checkpoint_name", "", kNoModels},
    Keyword{"wandb", "config", "", "the whole configuration is logged"},
    Keyword{"mlflow", "experiment_name", "experiment_name"},
    Keyword{"mlflow", "run_name", "run_name"},
    Keyword{"mlflow", "tracking_uri", "tracking_uri"},
    Keyword{"mlflow", "save_dir", "save_dir"},
    Keyword{"mlflow", "artifact_location", "artifact_location"},
    Keyword{"mlflow", "run_id", "run_id"},
    Keyword{"mlflow", "tags", "tags"},
    Keyword{"mlflow", "prefix", "prefix"},
    Keyword{"mlflow", "log_model", "", kNoModels},
    Keyword{"mlflow", "checkpoint_path_prefix", "", kNoModels},
    Keyword{"mlflow", "synchronous", "", "values are written in the order in which they come"},
};

Error loggers_error(const std::string& message) {
  return {ExitCode::kConfig, "config/loggers", message};
}

std::vector<std::string_view> keywords_of(std::string_view logger) {
  std::vector<std::string_view> names;
  for (const Keyword& keyword : kKeywords) {
    if (keyword.logger == logger) names.push_back(keyword.theirs);
  }
  return names;
}

const Keyword* find_keyword(std::string_view logger, const std::string& name) {
  const auto found = std::find_if(kKeywords.begin(), kKeywords.end(), [&](const Keyword& keyword) {
    return keyword.logger == logger && keyword.theirs == name;
  });
  return found == kKeywords.end() ? nullptr : &*found;
}

bool is_switched_on(const Config* node) {
  return node != nullptr && node->is_scalar() && node->text() == "true";
}

class LoggerTranslation {
 public:
  LoggerTranslation(Config& config, Findings& findings, ConfigNotes& notes)
      : config_(config), findings_(findings), notes_(notes) {}

  void from_nemo() {
    Config* const manager = config_.find("exp_manager");
    if (manager == nullptr || !manager->is_map()) return;
    for (const NemoLogger& one : kNemoLoggers) {
      if (is_switched_on(manager->find(one.key))) {
        add(one, std::string("exp_manager.") + one.key, *manager->find(one.key),
            manager->find(one.keywords));
      } else if (const Config* keywords = manager->find(one.keywords)) {
        if (!keywords->is_null() && !(keywords->is_map() && keywords->entries().empty())) {
          notes_.without_effect.push_back(
              config_place(std::string("exp_manager.") + one.keywords, *keywords) + ": " + one.key +
              " is not true");
        }
      }
      forget(one);
    }
    for (const NemoLogger& one : kAbsentLoggers) {
      if (is_switched_on(manager->find(one.key))) {
        findings_.add(loggers_error(
            config_place(std::string("exp_manager.") + one.key, *manager->find(one.key)) +
            ": there is no logger for " + one.logger +
            "; expected one of s2s-run plugin list --kind logger in exp_manager.loggers; remove "
            "the key"));
      }
      forget(one);
    }
  }

  /// Reads `report_to` of Hugging Face's TrainingArguments: a name or a list of names. block: its
  /// name, or "" for the whole configuration.
  void from_report_to(const std::string& block) {
    Config* const node = block.empty() ? &config_ : config_.find(block);
    if (node == nullptr || !node->is_map() || node->find("report_to") == nullptr) return;
    const Config given = *node->find("report_to");
    node->erase("report_to");
    if (!block.empty() && node->entries().empty()) config_.erase(block);
    const std::string path = block + (block.empty() ? "" : ".") + "report_to";
    for (const Config& name : given.is_list() ? given.items() : std::vector<Config>{given}) {
      if (name.is_null() || name.text() == "none") continue;
      const bool is_all = name.text() == "all";
      bool is_known = false;
      for (const NemoLogger& one : kNemoLoggers) {
        if (!is_all && name.text() != one.logger) continue;
        is_known = true;
        add(one, path, name, nullptr);
      }
      if (is_known) continue;
      findings_.add(loggers_error(config_place(path, name) + ": " + config_value(name) +
                                  " is not known; expected tensorboard, wandb, mlflow, all or "
                                  "none; for others write exp_manager.loggers"));
    }
  }

 private:
  void forget(const NemoLogger& one) {
    Config& manager = *config_.find("exp_manager");
    manager.erase(one.key);
    manager.erase(one.keywords);
  }

  /// Appends to exp_manager.loggers, unless it has a logger of this name. `origin` is a copy,
  /// because the block may get another key.
  void add(const NemoLogger& one, const std::string& path, const Config origin,
           const Config* keywords) {
    Config component = Config::map();
    component.set_origin(origin.origin());
    component["name"] = Config::scalar(one.logger);
    component["name"].set_origin(origin.origin());
    if (keywords != nullptr) add_options(component, one, *keywords);
    Config& loggers = config_["exp_manager"]["loggers"];
    if (!loggers.is_list()) {
      loggers =
          Config::list(loggers.is_map() && !loggers.entries().empty() ? std::vector<Config>{loggers}
                                                                      : std::vector<Config>());
    }
    const bool is_there =
        std::any_of(loggers.items().begin(), loggers.items().end(), [&](const Config& item) {
          const Config* name = item.is_map() ? item.find("name") : nullptr;
          return name != nullptr && name->text() == one.logger;
        });
    if (is_there) {
      notes_.without_effect.push_back(config_place(path, origin) +
                                      ": exp_manager.loggers already names " + one.logger);
      return;
    }
    notes_.others.push_back(config_place(path, origin) + ": read as exp_manager.loggers: [" +
                            write_yaml_inline(component) + "]");
    loggers.items().push_back(std::move(component));
  }

  void add_options(Config& component, const NemoLogger& one, const Config& keywords) {
    const std::string path = std::string("exp_manager.") + one.keywords;
    if (keywords.is_null()) return;
    if (!keywords.is_map()) {
      return findings_.add(type_error(path, keywords, "a map of the logger's arguments"));
    }
    std::vector<std::string> unknown;
    for (const auto& [name, value] : keywords.entries()) {
      const Keyword* const keyword = find_keyword(one.logger, name);
      if (keyword == nullptr) {
        unknown.push_back(printable_name(name));
      } else if (value.is_null()) {
        continue;  // the logger's default
      } else if (*keyword->ours == '\0') {
        notes_.without_effect.push_back(config_place(path + "." + name, value) + ": " +
                                        keyword->why);
      } else {
        component[keyword->ours] = value;
      }
    }
    if (unknown.empty()) return;
    findings_.add(loggers_error(fmt::format(
        "{}: unknown {}; expected {}; remove them, or write the logger's own options in "
        "exp_manager.loggers (s2s-run plugin inspect logger:{})",
        config_place(path, keywords), fmt::join(unknown, ", "),
        fmt::join(keywords_of(one.logger), ", "), one.logger)));
  }

  Config& config_;
  Findings& findings_;
  ConfigNotes& notes_;
};

}  // namespace

void translate_loggers(Config& config, Findings& findings, ConfigNotes& notes) {
  LoggerTranslation loggers(config, findings, notes);
  loggers.from_nemo();
  for (const char* const block : {"", "training", "trainer"}) loggers.from_report_to(block);
}

}  // namespace s2s::interop
