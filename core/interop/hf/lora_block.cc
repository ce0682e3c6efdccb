// Completes `model.lora`: a block that asks for adapters has them, also without `r`. Values that it
// does not have come from the adapter of `path`, and PEFT's spellings become ours.

#include <array>
#include <filesystem>
#include <string>

#include "config/config_errors.h"
#include "config/config_tree.h"
#include "config/distrusted_files.h"
#include "config/yaml_reader.h"
#include "hf/hf.h"
#include "s2s/foreign_text.h"
#include "weights/adapter_keys.h"
#include "weights/json_file.h"

namespace s2s::interop {
namespace {

/// Of PEFT's LoraConfig.
constexpr int kRankOfPeft = 8;

Error adapter_error(const Config& path, const std::string& problem) {
  return config_error("lora/adapter",
                      config_place("model.lora.path", path) + ": " + config_value(path) + " " +
                          problem +
                          "; expected a folder with PEFT's adapter_config.json; correct "
                          "the path, or remove it for new adapters");
}

/// The options that an adapter's numbers need. A dropout is the next training's to choose.
constexpr std::array kFromAdapter = {"r",
                                     "lora_alpha",
                                     "target_modules",
                                     "use_rslora",
                                     "rank_pattern",
                                     "alpha_pattern",
                                     "exclude_modules",
                                     "layers_to_transform",
                                     "layers_pattern"};

bool is_written_text(const Config& value) { return value.is_scalar() && !value.is_missing(); }

class LoraBlock {
 public:
  LoraBlock(Config& lora, Findings& findings, ConfigNotes& notes)
      : lora_(lora), findings_(findings), notes_(notes) {}

  void complete() {
    const Config* const rank = lora_.find("r");
    const bool has_rank = rank != nullptr && !rank->is_null();
    if (!has_rank) lora_.erase("r");
    drop_foreign_keys();
    read_texts();
    const Config* const path = lora_.find("path");
    const bool has_path = path != nullptr && is_written_text(*path) &&
                          path->text().find("${") == std::string::npos &&
                          !(has_rank && is_complete(*path));
    const bool is_off = has_rank && rank->is_scalar() && rank->text() == "0";
    if (is_off) return say_off();
    try {
      if (has_path) return read_adapter(Config(*path), has_rank);
      if (has_rank) return;
      set("r", Config::scalar(std::to_string(kRankOfPeft)), "default of PEFT");
      notes_.others.push_back("model.lora.r is 8, PEFT's default; r: 0 turns adapters off");
    } catch (const Error& error) {
      set("r", Config::scalar(std::to_string(kRankOfPeft)), "default of PEFT");
      findings_.add(error);
    }
  }

 private:
  void set(const std::string& key, Config value, const std::string& source) {
    if (lora_.find(key) != nullptr) return;
    Origin origin;
    origin.source = source;
    value.set_origin(origin);
    for (Config& item : value.items()) item.set_origin(origin);
    for (auto& [name, item] : value.entries()) item.set_origin(origin);
    lora_[key] = std::move(value);
  }

  /// Whether a block with a rank needs nothing of its adapter: it comes from a checkpoint, or the
  /// adapter is not there any more (which is an error where its tensors are read).
  static bool is_complete(const Config& path) {
    std::error_code ignored;
    return is_distrusted(path.origin()) ||
           !std::filesystem::exists(std::filesystem::path(path.text()) / "adapter_config.json",
                                    ignored);
  }

  /// A block with more than the rank was meant to do something.
  void say_off() {
    if (lora_.entries().size() < 2) return;
    notes_.warnings.push_back(config_place("model.lora.r", *lora_.find("r")) +
                              " is 0: no adapters, and the other keys of model.lora have no "
                              "effect; remove r for adapters");
  }

  /// The keys of PEFT's LoraConfig that are no options here.
  void drop_foreign_keys() {
    const std::vector<std::pair<std::string, Config>> entries = lora_.entries();
    for (const auto& [key, value] : entries) {
      const bool is_bias = key == "bias" || key == "init_lora_weights" || key == "peft_type";
      const bool is_off = is_off_in_adapter(key, config_json(value));
      const AdapterKeyUse use = adapter_key_use(key);
      const bool is_dropped =
          (key != "task_type" || value.is_null()) && key != "path" && key != "target_pattern" &&
          key != "exclude_pattern" &&
          (use == AdapterKeyUse::kNoEffect || (use == AdapterKeyUse::kOnlyOff && is_off));
      if (is_dropped) {
        notes_.without_effect.push_back(
            config_place("model.lora." + key, value) +
            (is_off || is_bias ? ": this is the default" : ": it changes no number"));
        lora_.erase(key);
      } else if (is_bias) {
        findings_.add(adapter_key_error("model.lora", key, config_value(value),
                                        key == "bias" ? "none" : "true, gaussian or orthogonal"));
        lora_.erase(key);
      }
    }
  }

  /// In PEFT, a text is all-linear or a regular expression, and a single layer is a number.
  void read_texts() {
    for (const auto& [key, pattern] : {std::pair("target_modules", "target_pattern"),
                                       std::pair("exclude_modules", "exclude_pattern")}) {
      const Config* const found = lora_.find(key);
      if (found == nullptr || !is_written_text(*found)) continue;
      const Config text = *found;
      lora_.erase(key);
      if (text.text() == "all-linear" && std::string_view(key) == "target_modules") {
        set_list(key, text);
        continue;
      }
      lora_[pattern] = Config::scalar(text.text(), /*quoted=*/true);
      lora_[pattern].set_origin(text.origin());
    }
    for (const char* const key : {"layers_to_transform", "layers_pattern"}) {
      const Config* const found = lora_.find(key);
      if (found != nullptr && is_written_text(*found)) set_list(key, Config(*found));
      if (found != nullptr && found->is_null()) lora_.erase(key);
    }
  }

  void set_list(const char* key, const Config& item) {
    lora_[key] = Config::list({item});
    lora_[key].set_origin(item.origin());
  }

  /// Values that the block does not have, from the adapter that it names.
  void read_adapter(const Config& path, bool has_rank) {
    const std::string file =
        (std::filesystem::path(path.text()) / "adapter_config.json").lexically_normal().string();
    std::error_code ignored;
    if (!std::filesystem::exists(file, ignored)) {
      throw adapter_error(path, "has no adapter_config.json");
    }
    const nlohmann::ordered_json adapter = read_json_file(file);
    if (!adapter.is_object())
      throw adapter_error(path, "has an adapter_config.json that is no map");
    const Findings refused = refused_adapter_keys(file, adapter);
    for (const Error& error : refused.errors()) findings_.add(error);
    const auto rank = adapter.find("r");
    if (rank == adapter.end() || !rank->is_number_integer()) {
      throw adapter_error(path, "has an adapter without the rank 'r'");
    }
    for (const char* const key : kFromAdapter) take(adapter, key, file);
    read_texts();
    if (!has_rank) {
      notes_.others.push_back("model.lora.r is " + lora_.find("r")->text() + ", from " +
                              printable_name(path.text()));
    }
    const auto dropout = adapter.find("lora_dropout");
    if (dropout != adapter.end() && dropout->is_number() && dropout->get<double>() != 0 &&
        lora_.find("lora_dropout") == nullptr) {
      notes_.others.push_back(file + " was trained with lora_dropout " + dropout->dump() +
                              "; here model.lora.lora_dropout is 0");
    }
  }

  /// An option of an adapter, unless the block has it or says which layers it means otherwise.
  void take(const nlohmann::ordered_json& adapter, const std::string& key,
            const std::string& file) {
    const auto found = adapter.find(key);
    if (found == adapter.end() || found->is_null()) return;
    const bool is_other = (key == "target_modules" && lora_.find("target_pattern") != nullptr) ||
                          (key == "exclude_modules" && lora_.find("exclude_pattern") != nullptr);
    if (is_other || (found->is_structured() && found->empty())) return;
    Origin origin;
    origin.source = file;
    set(key, parse_yaml_value(found->dump(), origin), file);
  }

  Config& lora_;
  Findings& findings_;
  ConfigNotes& notes_;
};

}  // namespace

void complete_lora(Config& config, Findings& findings, ConfigNotes& notes) {
  Config* const model = config.find("model");
  Config* const lora = model == nullptr ? nullptr : model->find("lora");
  if (lora == nullptr || !lora->is_map() || lora->entries().empty()) return;
  const Config* const enabled = lora->find("enabled");
  if (enabled != nullptr && enabled->is_scalar() && enabled->text() == "false") {
    notes.without_effect.push_back(config_place("model.lora", *lora) + ": it is switched off");
    model->erase("lora");
    return;
  }
  LoraBlock(*lora, findings, notes).complete();
}

}  // namespace s2s::interop
