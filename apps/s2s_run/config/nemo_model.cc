// Reads the `model` block of a configuration of NeMo speechlm2: which model it is, and its
// pretrained parts where they are files of this machine.

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>

#include "config/config_errors.h"
#include "config/yaml_reader.h"
#include "s2s/foreign_text.h"
#include "s2s/model_parts.h"
#include "s2s_run/checkpoint/nemo_class.h"
#include "s2s_run/config/foreign_keys.h"
#include "s2s_run/config/nemo_keys.h"
#include "weights/archives.h"
#include "weights/json_file.h"

namespace s2s::run {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kLargestConfig = uint64_t{4} << 20;

/// A key that only one of NeMo's models has, and its type here. The first that is there decides.
struct Mark {
  const char* key;
  const char* type;
};
constexpr std::array kMarks = {
    Mark{"audio_locator_tag", "salm"},
    Mark{"speech_generation", "nemotron_voicechat"},
    Mark{"tts_config", "duplex_eartts"},
    Mark{"speech_decoder", "duplex_s2s_speech_decoder"},
    Mark{"pretrained_audio_codec", "duplex_s2s"},
    Mark{"validation_save_path", "duplex_stt"},
    Mark{"predict_user_text", "duplex_stt"},
    Mark{"source_sample_rate", "duplex_stt"},
    Mark{"perception", "duplex_s2s"},
    Mark{"pretrained_asr", "duplex_s2s"},
};

/// The configuration in a .nemo archive.
Config config_in(const std::string& archive) {
  return parse_yaml(read_archive_text(archive, "model_config.yaml", kLargestConfig), archive);
}

class NemoModel {
 public:
  NemoModel(Config& model, Findings& findings, ConfigNotes& notes)
      : model_(model), findings_(findings), notes_(notes) {}

  void translate() {
    name_type();
    try {
      read_language_model();
      read_perception();
    } catch (const Error& error) {
      findings_.add(error);
    }
  }

 private:
  void set(const char* key, Config node, const Origin& origin) {
    node.set_origin(origin);
    model_[key] = std::move(node);
  }

  void note(const std::string& key, const Config& value, const std::string& as) {
    notes_.others.push_back(config_place("model." + key, value) + ": read as " + as);
  }

  /// Refuses the blocks of classes that are not here, before their keys are reported one by one.
  void refuse_other_classes() const {
    const Config* const target = model_.find("_target_");
    if (target == nullptr || !target->is_scalar()) return;
    const std::string name = target->text().substr(target->text().rfind('.') + 1);
    const NemoClass* const known = nemo_class_named(name);
    if (known == nullptr || known->type == nullptr) {
      throw_no_nemo_class(config_place("model._target_", *target), name);
    }
    model_.erase("_target_");  // the keys below tell the type
  }

  void name_type() {
    if (model_.find("type") != nullptr || model_.find("llm") != nullptr) return;
    refuse_other_classes();
    for (const Mark& mark : kMarks) {
      const Config* const found = model_.find(mark.key);
      if (found == nullptr) continue;
      const Config key = *found;
      note(mark.key, key, std::string("model.type: ") + mark.type);
      return set("type", Config::scalar(mark.type), key.origin());
    }
  }

  /// pretrained_llm: a Hugging Face folder of this machine gives the language model and its
  /// tokenizer. A name of a hub stays, and is reported as an unknown key with what to write.
  void read_language_model() {
    const Config* const found = model_.find("pretrained_llm");
    if (found == nullptr || !found->is_scalar() || model_.find("llm") != nullptr) return;
    const Config folder = *found;
    if (!fs::is_regular_file(fs::path(folder.text()) / "config.json")) return;
    Config llm = Config::map();
    llm["path"] = folder;
    set("llm", std::move(llm), folder.origin());
    note("pretrained_llm", folder, "llm.path");
    model_.erase("pretrained_llm");
    imply_tokenizer(folder);
  }

  /// NeMo's SALM adds its tag to the tokenizer.
  void add_tag(Config& tokenizer) const {
    const Config* const tag = model_.find("audio_locator_tag");
    if (tag == nullptr) return;
    Config& added = tokenizer["additional_special_tokens"];
    if (!added.is_list()) added = Config::list({});
    const bool is_there =
        std::any_of(added.items().begin(), added.items().end(),
                    [&](const Config& item) { return item.text() == tag->text(); });
    if (!is_there) added.items().push_back(*tag);
  }

  /// The tokenizer of the language model's folder. A block `tokenizer` with another path or name is
  /// another one, and null is none; with other keys, as pad_id, it adds to what the folder implies.
  void imply_tokenizer(const Config& folder) {
    const Config* const written = model_.find("tokenizer");
    const bool is_another =
        written != nullptr && (!written->is_map() || written->find("path") != nullptr ||
                               written->find("name") != nullptr);
    if (is_another) return;
    const Config* const own = model_.find("tokenizer_path");
    const bool has_own = own != nullptr && own->is_scalar() && !own->is_null();
    Config tokenizer = Config::map();
    tokenizer["name"] = Config::scalar("hf");
    tokenizer["path"] = has_own ? *own : folder;
    if (written != nullptr) {
      for (const auto& [key, value] : written->entries()) tokenizer[key] = value;
    }
    add_tag(tokenizer);
    set("tokenizer", std::move(tokenizer), folder.origin());
    model_.erase("tokenizer_path");
  }

  /// `perception` with the blocks of the archive of pretrained_asr below its own keys.
  static Config over_archive(Config perception, const std::string& archive) {
    const Config written = config_in(archive);
    for (const char* key : {"preprocessor", "encoder", "spec_augment"}) {
      const Config* const block = written.find(key);
      if (block == nullptr || !block->is_map()) continue;
      Config merged = *block;
      if (const Config* const own = perception.find(key); own != nullptr && own->is_map()) {
        for (const auto& [option, value] : own->entries()) merged[option] = value;
      }
      perception[key] = std::move(merged);
    }
    return perception;
  }

  /// The transducer of an archive, for NeMo's SALMWithAsrDecoder; null when it has none.
  Config transducer_of(const Config& archive) const {
    const Config written = config_in(archive.text());
    Config decoder = Config::map();
    const auto take = [&](const char* key, std::initializer_list<const char*> paths) {
      for (const char* path : paths) {
        const Config* const found = written.find_path(path);
        if (found == nullptr || found->is_null()) continue;
        decoder[key] = *found;
        return;
      }
    };
    take("vocabulary", {"joint.vocabulary", "decoder.vocabulary", "labels"});
    take("durations", {"model_defaults.tdt_durations", "decoding.durations"});
    take("pred_hidden", {"decoder.prednet.pred_hidden"});
    take("pred_rnn_layers", {"decoder.prednet.pred_rnn_layers"});
    take("joint_hidden", {"joint.jointnet.joint_hidden"});
    take("max_symbols", {"decoding.greedy.max_symbols", "decoding.greedy.max_symbols_per_step"});
    if (decoder.find("pred_hidden") == nullptr || decoder.find("vocabulary") == nullptr) return {};
    if (has_pretrained_weights()) decoder["path"] = archive;
    return decoder;
  }

  /// `perception` whose class also hears words: its transducer goes to asr_decoder.
  void read_transducer(const Config& perception, const Config& archive) {
    const Config* const target = perception.find("target");
    const bool hears_words = target != nullptr && target->is_scalar() &&
                             target->text().ends_with(".AudioTranscriptionPerceptionModule");
    if (!hears_words || model_.find("asr_decoder") != nullptr) return;
    Config decoder = transducer_of(archive);
    if (decoder.is_null()) {
      throw_not_translated("model.pretrained_asr", archive,
                           "an archive with an RNN-T or TDT model");
    }
    note("pretrained_asr", archive, "asr_decoder and encoder");
    set("asr_decoder", std::move(decoder), archive.origin());
  }

  /// Without an archive, `perception` must have all blocks; else it stays, and is reported.
  void read_perception() {
    const Config* const found = model_.find("perception");
    if (found == nullptr || !found->is_map()) return;
    const Config perception = *found;
    const Config* const asr = model_.find("pretrained_asr");
    const bool is_file = asr != nullptr && asr->is_scalar() && fs::is_regular_file(asr->text());
    // The class of a whole encoder; NeMo's files also write a few keys above an archive's.
    if (!is_file && perception.find_path("encoder._target_") == nullptr) return;
    const Config archive = is_file ? *asr : Config();
    Config parts = Config::map();
    translate_perception(is_file ? over_archive(perception, archive.text()) : perception,
                         "fastconformer", parts);
    if (is_file && has_pretrained_weights()) parts["encoder"]["path"] = archive;
    for (const char* key : {"encoder", "modality_adapter"}) {
      if (model_.find(key) != nullptr) {
        notes_.without_effect.push_back(config_place("model.perception", perception) + ": model." +
                                        key + " is written");
      } else {
        set(key, std::move(parts[key]), perception.origin());
      }
    }
    note("perception", perception, "encoder and modality_adapter");
    if (is_file) read_transducer(perception, archive);
    if (is_file || !has_pretrained_weights()) model_.erase("pretrained_asr");
    model_.erase("perception");
  }

  bool has_pretrained_weights() const {
    const Config* const found = model_.find("pretrained_weights");
    return found == nullptr || !found->is_scalar() || found->as_bool("model.pretrained_weights");
  }

  Config& model_;
  Findings& findings_;
  ConfigNotes& notes_;
};

}  // namespace

namespace {

/// The ids of the tokens that `tokenizer` names by their texts, of the tokenizer.json in its
/// folder; null where there is none.
Config ids_of_tokens(const Config& tokenizer) {
  Config ids = Config::map();
  const Config* const path = tokenizer.find("path");
  if (path == nullptr || !path->is_scalar()) return {};
  const fs::path file = fs::path(path->text()) / "tokenizer.json";
  if (!fs::is_regular_file(file)) return {};
  const nlohmann::ordered_json json = read_json_file(file.string());
  const auto vocabulary = json.find("model") == json.end() || !json["model"].contains("vocab")
                              ? nlohmann::ordered_json::object()
                              : json["model"]["vocab"];
  for (const char* role : {"bos", "eos", "pad"}) {
    const Config* const token = tokenizer.find(std::string(role) + "_token");
    if (token == nullptr || !token->is_scalar()) continue;
    const std::string& text = token->text();
    if (vocabulary.is_object() && vocabulary.contains(text)) {
      ids[role] = Config::scalar(vocabulary[text].dump());
    }
    for (const auto& added : json.value("added_tokens", nlohmann::ordered_json::array())) {
      if (added.value("content", "") == text) ids[role] = Config::scalar(added["id"].dump());
    }
  }
  return ids.entries().empty() ? Config() : ids;
}

/// The two models of a NemotronVoiceChat, which have blocks of their own. They share the tokenizer
/// of the one that listens.
class VoiceChat {
 public:
  VoiceChat(Config& model, Findings& findings, ConfigNotes& notes)
      : model_(model), findings_(findings), notes_(notes) {}

  void translate() {
    translate_part("stt", "duplex_stt");
    translate_part("speech_generation", "duplex_eartts");
    const Config* const voice = model_.find("inference_speaker_reference");
    if (voice != nullptr && voice->is_scalar() && voice->text() == "None") {
      model_["inference_speaker_reference"] = Config();
    }
  }

 private:
  void translate_part(const std::string& name, const char* type) {
    Config* const part = model_.find(name);
    if (part == nullptr || !part->is_map() || part->find("model") == nullptr) return;
    Config alone = Config::map();
    alone["model"] = *part->find("model");
    if (alone["model"].find("type") == nullptr) alone["model"]["type"] = Config::scalar(type);
    if (const Config* const data = part->find("data")) alone["data"] = *data;
    ConfigNotes notes;
    translate_nemo_model(alone, findings_, notes);
    take_notes(notes, "model." + name + ".model.");
    if (Config* const tokenizer = alone["model"].find("tokenizer")) {
      const bool is_first = model_.find("tokenizer") == nullptr;
      if (is_first) model_["tokenizer"] = *tokenizer;
      const Config ids = is_first ? Config() : ids_of_tokens(*tokenizer);
      alone["model"].erase("tokenizer");
      if (!ids.is_null() && alone["model"].find("tokens") == nullptr) {
        alone["model"]["tokens"] = ids;
      }
    }
    (*part)["model"] = alone["model"];
    part->erase("exp_manager");
    part->erase("data");
    if (name == "speech_generation" && alone.find("data") != nullptr) {
      (*part)["data"] = alone["data"];
    }
  }

  void take_notes(const ConfigNotes& from, const std::string& place) {
    const auto take = [&](const std::vector<std::string>& some, std::vector<std::string>& all) {
      for (const std::string& note : some) {
        all.push_back(note.starts_with("model.") ? place + note.substr(6) : note);
      }
    };
    take(from.without_effect, notes_.without_effect);
    take(from.others, notes_.others);
    take(from.warnings, notes_.warnings);
  }

  Config& model_;
  Findings& findings_;
  ConfigNotes& notes_;
};

}  // namespace

void translate_nemo_model(Config& config, Findings& findings, ConfigNotes& notes) {
  Config* const model = config.find("model");
  if (model == nullptr || !model->is_map()) return;
  NemoModel(*model, findings, notes).translate();
  const Config* const type = model->find("type");
  if (type == nullptr || !type->is_scalar()) return;
  const std::string name = type->text();
  const bool is_nemo = std::any_of(kMarks.begin(), kMarks.end(),
                                   [&](const Mark& mark) { return name == mark.type; });
  if (!is_nemo) return;  // another model may have options of these names
  if (name == "nemotron_voicechat") VoiceChat(*model, findings, notes).translate();
  if (name == "duplex_eartts") read_nemo_eartts(config, notes);
  move_nemo_keys(config, name, notes);
}

}  // namespace s2s::run
