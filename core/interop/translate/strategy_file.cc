// trainer.strategy: {name: deepspeed, config: FILE}, and the same for fsdp and accelerate.

#include <filesystem>
#include <utility>

#include "accelerate/fsdp_keys.h"
#include "base/text.h"
#include "config/config_errors.h"
#include "config/distrusted_files.h"
#include "config/interpolation.h"
#include "config/load_config.h"
#include "config/nearest_file.h"
#include "deepspeed/deepspeed_values.h"
#include "keys/foreign_file.h"
#include "lightning/strategy_names.h"
#include "s2s/foreign_text.h"
#include "translate/recipe_blocks.h"

namespace s2s::interop {
namespace {

namespace fs = std::filesystem;

enum class Format { kNone, kDeepSpeed, kFsdp, kAccelerate };

Format format_of(const std::string& name) {
  const std::string last = lower(name.substr(name.rfind('.') + 1));
  if (last.starts_with("deepspeed")) return Format::kDeepSpeed;
  if (last.starts_with("fsdp")) return Format::kFsdp;
  return last == "accelerate" ? Format::kAccelerate : Format::kNone;
}

/// transformers writes the keys of FSDP without `fsdp_`.
Config with_prefixes(const Config& node) {
  if (!node.is_map()) return node;
  Config out = Config::map();
  out.set_origin(node.origin());
  for (const auto& [key, value] : node.entries()) {
    const std::string full = "fsdp_" + key;
    bool is_short = false;
    for (const ForeignKey& row : fsdp_keys()) is_short = is_short || row.key == full;
    out[is_short ? full : key] = value;
  }
  return out;
}

class StrategyFile {
 public:
  StrategyFile(Config& config, Findings& findings, ConfigNotes& notes)
      : config_(config), findings_(findings), notes_(notes) {}

  void run() {
    const Config* const strategy = config_.find_path("trainer.strategy");
    if (strategy == nullptr || !strategy->is_map() || has_unresolved(*strategy)) return;
    const Config* const given = strategy->find("config");
    const Config* const target = strategy->find("_target_");
    const Config* const written = target != nullptr ? target : strategy->find("name");
    if (given == nullptr || given->is_null() || written == nullptr || !written->is_scalar()) return;
    name_ = *written;
    const Format format = format_of(name_.text());
    if (format == Format::kNone) return;
    const Config file = *given;
    for (const char* const key : {"config", "_target_", "name"}) block().erase(key);
    take_stage_of_name();
    read(format, file);
    block()["name"] = Config::scalar(ours_);
    block()["name"].set_origin(name_.origin());
  }

 private:
  Config& block() { return *config_.find("trainer")->find("strategy"); }

  /// "deepspeed_stage_3" also contains the stage.
  void take_stage_of_name() {
    if (!name_.text().starts_with("deepspeed_")) return;
    const Config ours = our_strategy(name_.text());
    for (const auto& [key, value] : ours.entries()) {
      if (key != "name" && block().find(key) == nullptr) block()[key] = value;
    }
  }

  void read(Format format, const Config& given, std::string place = "trainer.strategy.config") {
    const char* const content = format == Format::kDeepSpeed ? "a JSON file of DeepSpeed"
                                : format == Format::kFsdp    ? "a file of FSDP's settings"
                                                             : "a file of accelerate config";
    const Config node = node_of(given, place, content);
    if (node.is_null()) return;
    if (format == Format::kDeepSpeed) read_deepspeed(node, place);
    if (format == Format::kFsdp) read_fsdp(node, place);
    if (format == Format::kAccelerate) read_accelerate(node, place);
  }

  /// `given` names a missing file.
  static Error no_file(const Config& given, const std::string& key, const std::string& content) {
    const fs::path path = given.text();
    const fs::path beside = fs::path(given.origin().source).parent_path() / path.filename();
    std::error_code ignored;
    std::string nearest;
    if (given.origin().line > 0 && fs::exists(beside, ignored)) nearest = beside.string();
    if (nearest.empty()) nearest = nearest_file(path);
    return config_error(
        "config/no-file",
        config_place(key, given) + ": there is no file '" + printable_name(path.string()) +
            "'; expected " + content + ", with its path from the folder in which s2s-run runs" +
            (nearest.empty() ? "" : "; did you mean '" + printable_name(nearest) + "'?"));
  }

  /// The content of a file, or of a map in its place. Errors become findings.
  Config node_of(const Config& given, std::string& place, const std::string& content) {
    if (given.is_map()) return given;
    if (is_distrusted(given.origin())) {
      findings_.add(Error(ExitCode::kConfig, "config/engine-key",
                          config_place(place, given) + " is " + config_value(given) +
                              "; the configuration of a checkpoint must not name a file to read; "
                              "give trainer.strategy on the command line"));
      return {};
    }
    try {
      const std::string key = std::exchange(place, given.as_string(place));
      std::error_code ignored;
      if (!fs::exists(place, ignored)) throw no_file(given, key, content);
      return load_config(place);
    } catch (const Error& error) {
      findings_.add(error);
      return {};
    }
  }

  void read_deepspeed(const Config& node, const std::string& place) {
    ForeignFile file(config_, node, place, findings_, notes_);
    file.pass_unknown_keys();
    file.read(deepspeed_keys());
    read_global_batch(file);
    finish_deepspeed(file);
    name_by_stage();
    file.add_notes();
  }

  /// Without a stage, each rank holds the whole model.
  void name_by_stage() {
    const Config* const tensor = block().find("tensor_parallel_size");
    const bool is_sharded = block().find("zero_stage") != nullptr;
    ours_ = tensor != nullptr ? "model_parallel" : is_sharded ? "fsdp" : "ddp";
    if (tensor == nullptr || is_sharded) return;
    const Origin origin = tensor->origin();
    block()["zero_stage"] = Config::scalar("1");  // the least that model_parallel has
    block()["zero_stage"].set_origin(origin);
  }

  void read_fsdp(const Config& node, const std::string& place) {
    const Config full = with_prefixes(node);
    ForeignFile file(config_, full, place, findings_, notes_);
    file.read(fsdp_keys());
    file.add_notes();
    const Config* const sharding = full.is_map() ? full.find("fsdp_sharding_strategy") : nullptr;
    const bool is_whole = sharding != nullptr && sharding->is_scalar() &&
                          (sharding->text() == "NO_SHARD" || sharding->text() == "3");
    if (is_whole) ours_ = "ddp";
  }

  void read_accelerate(const Config& node, const std::string& place) {
    ForeignFile file(config_, node, place, findings_, notes_);
    file.read(accelerate_keys());
    file.add_notes();
    const Config* const type = node.find("distributed_type");
    const std::string text = type != nullptr && type->is_scalar() ? type->text() : "NO";
    if (text == "FSDP") {
      const Config* const inner = node.find("fsdp_config");
      if (inner != nullptr && !inner->is_null()) read_fsdp(*inner, place + ": fsdp_config");
    } else if (text == "DEEPSPEED") {
      const Config* const inner = node.find_path("deepspeed_config.deepspeed_config_file");
      if (inner != nullptr && !inner->is_null() && inner->text() != "none") {
        return read(Format::kDeepSpeed, *inner, "deepspeed_config.deepspeed_config_file");
      }
      name_by_stage();
    } else {
      ours_ = "ddp";
    }
  }

  Config& config_;
  Findings& findings_;
  ConfigNotes& notes_;
  Config name_;
  std::string ours_ = "fsdp";
};

/// Drops the warm-up of `training`, which the schedules have read.
void drop_warmup(Config& config, ConfigNotes& notes) {
  Config* const training = config.find("training");
  if (training == nullptr || !training->is_map()) return;
  const Config* const schedule = config.find_path("model.lr_scheduler");
  for (const char* const key : {"warmup_ratio", "warmup_steps"}) {
    const Config* const value = training->find(key);
    if (value == nullptr) continue;
    const bool is_none = !is_switched_on(*value) || whole_number(*value) == 0;
    if (!is_none && (schedule == nullptr || schedule->is_null())) {
      notes.warnings.push_back(config_place(std::string("training.") + key, *value) +
                               " has no effect without a schedule; write "
                               "training.lr_scheduler_type: linear, cosine or "
                               "constant_with_warmup");
    }
    training->erase(key);
  }
  if (training->entries().empty()) config.erase("training");
}

}  // namespace

void translate_strategy_file(Config& config, Findings& findings, ConfigNotes& notes) {
  StrategyFile(config, findings, notes).run();
  drop_warmup(config, notes);
}

}  // namespace s2s::interop
