// Reads the `model` block of a configuration of NeMo speechlm2: which model it is, and its
// pretrained parts where they are files of this machine.

#include <array>
#include <filesystem>
#include <string>

#include "config/config_errors.h"
#include "config/yaml_reader.h"
#include "s2s/foreign_text.h"
#include "s2s/model_parts.h"
#include "s2s_run/config/foreign_keys.h"
#include "weights/archives.h"

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
    Mark{"tts_config", "duplex_eartts"},
    Mark{"speech_decoder", "duplex_s2s_speech_decoder"},
    Mark{"pretrained_audio_codec", "duplex_s2s"},
    Mark{"validation_save_path", "duplex_stt"},
    Mark{"predict_user_text", "duplex_stt"},
    Mark{"source_sample_rate", "duplex_stt"},
    Mark{"perception", "duplex_s2s"},
    Mark{"pretrained_asr", "duplex_s2s"},
};

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

  void name_type() {
    if (model_.find("type") != nullptr || model_.find("llm") != nullptr) return;
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
    if (model_.find("tokenizer") != nullptr) return;
    const Config* const own = model_.find("tokenizer_path");
    const bool has_own = own != nullptr && own->is_scalar() && !own->is_null();
    Config tokenizer = Config::map();
    tokenizer["name"] = Config::scalar("hf");
    tokenizer["path"] = has_own ? *own : folder;
    // As NeMo's SALM adds it.
    if (const Config* const tag = model_.find("audio_locator_tag")) {
      tokenizer["additional_special_tokens"] = Config::list({*tag});
    }
    set("tokenizer", std::move(tokenizer), folder.origin());
    model_.erase("tokenizer_path");
  }

  /// The blocks of the encoder: those of the archive of pretrained_asr, with what `perception`
  /// says over them. Without pretrained weights, `perception` has all of them.
  Config encoder_blocks(const Config& perception, const Config* archive) const {
    Config blocks = Config::map();
    if (archive != nullptr) {
      const std::string name = "model_config.yaml";
      const Config written =
          parse_yaml(read_archive_text(archive->text(), name, kLargestConfig), archive->text());
      for (const char* key : {"preprocessor", "encoder", "spec_augment"}) {
        if (const Config* block = written.find(key)) blocks[key] = *block;
      }
    }
    for (const char* key : {"preprocessor", "encoder", "spec_augment"}) {
      const Config* const own = perception.find(key);
      if (own == nullptr || !own->is_map()) continue;
      if (blocks.find(key) == nullptr) blocks[key] = Config::map();
      for (const auto& [option, value] : own->entries()) blocks[key][option] = value;
    }
    return blocks;
  }

  void read_perception() {
    const Config* const found = model_.find("perception");
    if (found == nullptr || !found->is_map()) return;
    const Config perception = *found;
    const Config* const asr = model_.find("pretrained_asr");
    const bool is_file = asr != nullptr && asr->is_scalar() && fs::is_regular_file(asr->text());
    const Config archive = is_file ? *asr : Config();
    if (!is_file && perception.find("encoder") == nullptr) return;  // reported with what to write
    if (model_.find("encoder") == nullptr) {
      Config encoder = Config::map();
      encoder["name"] = Config::scalar("fastconformer");
      encoder["translate_from"] = encoder_blocks(perception, is_file ? &archive : nullptr);
      if (is_file && has_pretrained_weights()) encoder["path"] = archive;
      set("encoder", std::move(encoder), perception.origin());
      note("perception", perception, "encoder");
    }
    if (is_file || !has_pretrained_weights()) model_.erase("pretrained_asr");
    if (const Config* const adapter = perception.find("modality_adapter")) {
      if (model_.find("modality_adapter") == nullptr) {
        set("modality_adapter",
            translate_modality_adapter(*adapter, perception.find("rote"),
                                       "model.perception.modality_adapter"),
            adapter->origin());
      }
    }
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

void translate_nemo_model(Config& config, Findings& findings, ConfigNotes& notes) {
  Config* const model = config.find("model");
  if (model != nullptr && model->is_map()) NemoModel(*model, findings, notes).translate();
}

}  // namespace s2s::run
