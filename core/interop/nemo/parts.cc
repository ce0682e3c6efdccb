// Translates parts that NeMo specifies by Python class, by a model to download, or not at all.

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "config/config_errors.h"
#include "nemo/nemo_model.h"
#include "s2s/foreign_text.h"
#include "s2s/nemo.h"

namespace s2s::interop {
namespace {

struct Class {
  std::string_view key, theirs;  // the class without its module
  const char* ours;
};

constexpr std::array kClasses = {
    Class{"optimizer", "AdamW", "adamw"},
    Class{"optimizer", "FusedAdam", "adamw"},
    Class{"optimizer", "FlashAdamW", "adamw"},
    Class{"optimizer", "SGD", "sgd"},
    Class{"optimizer", "Lion", "lion"},
    Class{"optimizer", "Muon", "muon"},
    Class{"optimizer", "Adafactor", "adafactor"},
    Class{"lr_scheduler", "CosineAnnealing", "cosine_annealing"},
    Class{"lr_scheduler", "InverseSquareRootAnnealing", "inverse_square_root_annealing"},
};

/// Options that only select between equivalent implementations.
constexpr std::array kSwitches = {"foreach", "fused", "capturable", "differentiable"};

void give_name(Config& part, const char* key, const std::string& name, const Origin& origin) {
  part[key] = Config::scalar(name);
  part[key].set_origin(origin);
}

/// The name of an unknown class is used as a component's name: the error then lists the components.
void translate_class(Config& part, const std::string& key, ConfigNotes& notes) {
  const Config* const found = part.find("_target_");
  if (found == nullptr || !found->is_scalar() || part.find("name") != nullptr) return;
  const Config target = *found;
  const std::string name = target.text().substr(target.text().rfind('.') + 1);
  // A different algorithm than transformers' class of this name.
  const bool is_other = target.text() == "torch.optim.Adafactor";
  const auto known = std::find_if(kClasses.begin(), kClasses.end(), [&](const Class& one) {
    return one.key == key && one.theirs == name && !is_other;
  });
  part.erase("_target_");
  if (known == kClasses.end()) return give_name(part, "name", target.text(), target.origin());
  notes.others.push_back(config_place("model." + key + "._target_", target) + ": " +
                         config_value(target) + " is read as name: " + known->ours);
  give_name(part, "name", known->ours, target.origin());
}

/// Reads a connector that names NeMo's class.
void translate_adapter(Config& model, Findings& findings, ConfigNotes& notes) {
  Config* const adapter = model.find("modality_adapter");
  if (adapter == nullptr || !adapter->is_map()) return;
  const Config* const found = adapter->find("_target_");
  if (found == nullptr || !found->is_scalar()) return;
  const Config target = *found;
  const std::string path = "model.modality_adapter";
  try {
    *adapter = translate_modality_adapter(*adapter, adapter->find("rote"), path);
  } catch (const Error& error) {
    findings.add(error);
    adapter->erase("_target_");
    return;
  }
  adapter->set_origin(target.origin());
  notes.others.push_back(config_place(path + "._target_", target) + ": " + config_value(target) +
                         " is read as type: " + adapter->find("type")->text());
}

/// Refuses Lightning's list of GPU indices; CUDA_VISIBLE_DEVICES selects GPUs.
void refuse_device_list(Config& trainer, Findings& findings) {
  const Config* const devices = trainer.find("devices");
  if (devices == nullptr || !devices->is_list() || devices->items().empty()) return;
  std::vector<std::string> numbers;
  for (const Config& item : devices->items()) {
    numbers.push_back(item.is_scalar() ? printable_name(item.text()) : "?");
  }
  findings.add(type_error(
      "trainer.devices", *devices,
      fmt::format("the number of processes on each machine, -1 or auto (for these GPUs: devices: "
                  "{} and CUDA_VISIBLE_DEVICES={} in the environment)",
                  numbers.size(), fmt::join(numbers, ","))));
  trainer.erase("devices");
}

/// NeMo's precisions of FlashOptim: 16-bit weights whose missing bits are in the optimizer. Here
/// the weights have all bits, and steps compute with 16.
void translate_precision(Config& trainer, ConfigNotes& notes) {
  Config* const precision = trainer.find("precision");
  if (precision == nullptr || !precision->is_scalar()) return;
  const Config theirs = *precision;
  const bool is_bf16 = theirs.text() == "bf16-flash" || theirs.text() == "bf16-automodel";
  const bool is_fp16 = theirs.text() == "fp16-flash" || theirs.text() == "fp16-automodel";
  if (!is_bf16 && !is_fp16) return;
  *precision = Config::scalar(is_bf16 ? "bf16-mixed" : "16-mixed");
  precision->set_origin(theirs.origin());
  notes.others.push_back(config_place("trainer.precision", theirs) + ": " + config_value(theirs) +
                         " is read as " + precision->text() + " (float32 weights)");
}

/// NeMo's key contains only the name.
void name_scorer(Config& model) {
  Config* const scorer = model.find("scoring_asr");
  if (scorer == nullptr || !scorer->is_scalar() || scorer->is_missing()) return;
  const Config name = *scorer;
  *scorer = Config::map();
  scorer->set_origin(name.origin());
  give_name(*scorer, "name", name.text(), name.origin());
}

/// Keys of NeMo's data loader.
constexpr std::array kCutKeys = {"input_cfg", "shar_path", "cuts_path", "manifest_filepath"};

constexpr const char* kPromptFormat = "prompt_format";

bool reads_cuts(const Config& block) {
  return block.is_map() && block.find("name") == nullptr &&
         std::any_of(kCutKeys.begin(), kCutKeys.end(),
                     [&](const char* key) { return block.find(key) != nullptr; });
}

/// A set with a prompt format, its own or the block's, contains conversations.
void name_source(Config& block, const Config& around, const std::string& path, ConfigNotes& notes) {
  const bool is_prompts =
      block.find(kPromptFormat) != nullptr || around.find(kPromptFormat) != nullptr;
  const std::string name = is_prompts ? "conversations" : "cuts";
  notes.others.push_back(path + ": read as name: " + name);
  const Origin origin = block.origin();
  give_name(block, "name", name, origin);
}

/// Conversations mark audio with the model's tag, unless they set another one.
void take_tag_of_model(Config& block, const Config& around, const Config& tag) {
  const auto has = [&](const char* key) {
    return block.find(key) != nullptr || around.find(key) != nullptr;
  };
  const Config* const own = block.find("name");
  const Config* const name = own != nullptr ? own : around.find("name");
  const bool is_one = name != nullptr && name->is_scalar() && name->text() == "conversations";
  if (is_one && !has("audio_locator_tag")) block["audio_locator_tag"] = tag;
}

bool is_off(const Config* value) {
  return value == nullptr || value->is_null() || (value->is_scalar() && value->text() == "false");
}

/// A switch of NeMo's speech-to-text data that s2s lacks, and the keys that depend on it.
struct Switch {
  const char* block;
  const char* key;
  std::array<const char*, 2> tunes;
};
constexpr std::array kDataSwitches = {
    Switch{"data", "use_codec_aug", {"codec_prob", "codec_settings"}},
    Switch{"data", "aug_by_swap_role", {}},
    Switch{"model", "force_align_user_text", {"force_align_device"}},
};

/// Removes switches that are off, with their keys. Others stay, and are reported by name.
void drop_switches_that_are_off(Config& config, ConfigNotes& notes) {
  for (const Switch& one : kDataSwitches) {
    Config* const block = config.find(one.block);
    if (block == nullptr || !block->is_map() || !is_off(block->find(one.key))) continue;
    for (const char* key : {one.key, one.tunes[0], one.tunes[1]}) {
      const Config* const value = key == nullptr ? nullptr : block->find(key);
      if (value == nullptr) continue;
      notes.without_effect.push_back(config_place(std::string(one.block) + "." + key, *value) +
                                     ": " + one.key + " is off");
      block->erase(key);
    }
  }
}

}  // namespace

void name_data_sources(Config& config, ConfigNotes& notes) {
  Config* const data = config.find("data");
  if (data == nullptr) return;
  const Config* const tag = config.find_path("model.audio_locator_tag");
  Config* const train = data->find("train_ds");
  if (train != nullptr && reads_cuts(*train)) name_source(*train, *train, "data.train_ds", notes);
  if (train != nullptr && train->is_map() && tag != nullptr) {
    take_tag_of_model(*train, *train, *tag);
  }
  Config* const validation = data->find("validation_ds");
  Config* const sets = validation == nullptr ? nullptr : validation->find("datasets");
  if (sets == nullptr) return;
  for (auto& [name, set] : sets->entries()) {
    if (validation->find("name") == nullptr && reads_cuts(set)) {
      name_source(set, *validation, "data.validation_ds.datasets." + name, notes);
    }
    if (set.is_map() && tag != nullptr) take_tag_of_model(set, *validation, *tag);
  }
}

void translate_parts(Config& config, Findings& findings, ConfigNotes& notes) {
  Config* const trainer = config.find("trainer");
  if (trainer != nullptr && trainer->is_map()) {
    refuse_device_list(*trainer, findings);
    translate_precision(*trainer, notes);
  }
  drop_switches_that_are_off(config, notes);
  Config* const model = config.find("model");
  if (model == nullptr || !model->is_map()) return;
  name_scorer(*model);
  translate_adapter(*model, findings, notes);
  for (const char* key : {"optimizer", "lr_scheduler"}) {
    Config* const part = model->find(key);
    if (part == nullptr || !part->is_map()) continue;
    translate_class(*part, key, notes);
    for (const char* option : kSwitches) {
      const Config* const value = part->find(option);
      if (value == nullptr || std::string_view(key) != "optimizer") continue;
      notes.without_effect.push_back(
          config_place(std::string("model.optimizer.") + option, *value) +
          ": the optimizer always uses the fastest implementation");
      part->erase(option);
    }
  }
}

}  // namespace s2s::interop
