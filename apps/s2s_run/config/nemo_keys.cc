#include "s2s_run/config/nemo_keys.h"

#include <array>
#include <filesystem>
#include <string_view>

#include "config/config_errors.h"
#include "config/config_tree.h"

namespace s2s::run {
namespace {

namespace fs = std::filesystem;

/// A key of NeMo, and its place here. Keys of one model only have its type.
struct Move {
  const char* theirs;
  const char* ours;
  const char* type = "";
};

constexpr const char* kEarTts = "duplex_eartts";

constexpr std::array kMoves = {
    Move{"model.source_sample_rate", "data.source_sample_rate"},
    Move{"model.bos_token", "model.tokenizer.bos_token"},
    Move{"model.eos_token", "model.tokenizer.eos_token"},
    Move{"model.pad_token", "model.tokenizer.pad_token"},
    Move{"model.override_tokens.bos_token", "model.tokenizer.bos_token"},
    Move{"model.override_tokens.eos_token", "model.tokenizer.eos_token"},
    Move{"model.override_tokens.pad_token", "model.tokenizer.pad_token"},
    Move{"model.lora.dim", "model.lora.r"},
    Move{"model.lora.alpha", "model.lora.lora_alpha"},
    Move{"model.lora.dropout", "model.lora.lora_dropout"},
    Move{"model.inference_guidance_scale", "model.generation.guidance_scale", kEarTts},
    Move{"model.inference_noise_scale", "model.generation.noise_scale", kEarTts},
    Move{"model.inference_top_p_or_k", "model.generation.top_p_or_k", kEarTts},
    Move{"model.tts_config.num_delay_speech_tokens", "model.prompt.num_delay_speech_tokens",
         kEarTts},
    Move{"data.audio_prompt_duration", "model.prompt.audio_prompt_duration", kEarTts},
    Move{"data.add_audio_prompt", "model.prompt.add_audio_prompt", kEarTts},
    Move{"data.add_audio_prompt_after_description", "model.prompt.add_audio_prompt", kEarTts},
};

/// A key that changes nothing with this value (empty: with any).
struct Idle {
  const char* key;
  std::string_view value;
  const char* why;
  const char* type = "";  // empty: of all models
};

constexpr const char* kUnread = "NeMo's classes do not read it";
constexpr const char* kNoPython = "no Python is run";
constexpr const char* kExperts = "the language models here have no experts";
constexpr const char* kOwnKernels = "plugins choose their kernels";
constexpr const char* kInRun = "the run folder has the answers of validations";
constexpr const char* kIsDefault = "this is the default";

constexpr std::array kIdle = {
    Idle{"model.trust_remote_code", "", kNoPython},
    Idle{"model.validation_save_path", "", kInRun},
    Idle{"model.audio_save_path", "", kInRun},
    Idle{"model.use_nemo_automodel", "", "there is one implementation of each model"},
    Idle{"model.aux_loss_coeff", "0.0", kExperts},
    Idle{"model.aux_loss_coeff", "0", kExperts},
    Idle{"model.train_gate", "false", kExperts},
    Idle{"model.moe_metrics", "", kExperts},
    Idle{"model.automodel_backend", "", kOwnKernels},
    Idle{"model.sdpa_method", "", kOwnKernels},
    Idle{"model.compile", "", "nothing is compiled while training"},
    Idle{"model.inference_guidance_enabled", "true", kIsDefault},
    Idle{"model.llm_attr_name", "", "the plugin of the language model knows its parts"},
    Idle{"model.embed_tokens_attr_name", "", "the plugin of the language model knows its parts"},
    Idle{"model.incremental_loading", "", "tensors are read one at a time"},
    Idle{"model.text_embedding_weight", "", kUnread},
    Idle{"model.mask_sequence_padding", "", kUnread},
    Idle{"model.subword_mask_exactly_as_eartts", "", kUnread},
    Idle{"model.context_hidden_mask_exactly_as_eartts", "", kUnread},
    Idle{"model.tts_config.cas_config.pretrained_tokenizer_name", "", kUnread},
    Idle{"model.audio_loss_weight", "0", "the model has no audio loss", "duplex_stt"},
    Idle{"data.add_text_bos_and_eos_in_each_turn", "true", "every turn has both"},
};

/// Keys that NeMo writes with null for "none".
constexpr std::array kNone = {"model.pretrained_tts_model",
                              "model.pretrained_model",
                              "model.pretrained_ae_dir",
                              "model.pretrained_s2s_model",
                              "model.init_from_checkpoint",
                              "model.tts_config.backbone_model_class",
                              "model.tts_config.backbone_config_class",
                              "model.tts_config.cas_config.backbone_model_class",
                              "model.tts_config.cas_config.backbone_config_class"};

class Keys {
 public:
  Keys(Config& config, ConfigNotes& notes) : config_(config), notes_(notes) {}

  void move(const std::string& theirs, const std::string& ours) {
    const Config* const found = config_.find_path(theirs);
    if (found == nullptr) return;
    const Config value = *found;
    erase(theirs);
    if (config_.find_path(ours) != nullptr) {
      notes_.without_effect.push_back(config_place(theirs, value) + ": " + ours + " is written");
      return;
    }
    set(ours, value);
    notes_.others.push_back(config_place(theirs, value) + ": read as " + ours);
  }

  void drop(const Idle& idle, const std::string& type) {
    if (*idle.type != '\0' && idle.type != type) return;
    const Config* const found = config_.find_path(idle.key);
    if (found == nullptr) return;
    const bool is_it = idle.value.empty() || (found->is_scalar() && found->text() == idle.value);
    if (!is_it) return;
    notes_.without_effect.push_back(config_place(idle.key, *found) + ": " + idle.why);
    erase(idle.key);
  }

  void drop_null(const std::string& key) {
    const Config* const found = config_.find_path(key);
    if (found != nullptr && found->is_null()) erase(key);
  }

  void set(const std::string& key, const Config& value) {
    at_path(config_, key, value.origin()) = value;
  }

  void erase(const std::string& key) {
    const size_t dot = key.rfind('.');
    if (config_.find_path(key) == nullptr) return;
    at_path(config_, key.substr(0, dot)).erase(key.substr(dot + 1));
  }

 private:
  Config& config_;
  ConfigNotes& notes_;
};

/// The block of the codec: codec_config and the file of pretrained_audio_codec.
void read_codec(Config& model, ConfigNotes& notes) {
  const Config* const found = model.find("codec_config");
  if (found == nullptr || !found->is_map()) return;
  Config codec = *found;
  codec["name"] = Config::scalar("rvq_vae");
  if (const Config* const path = model.find("pretrained_audio_codec")) {
    if (!path->is_null()) codec["path"] = *path;
  }
  if (const Config* const own = model.find("codec"); own != nullptr && own->is_map()) {
    for (const auto& [key, value] : own->entries()) codec[key] = value;
  }
  notes.others.push_back(config_place("model.codec_config", *found) + ": read as model.codec");
  model["codec"] = std::move(codec);
  model.erase("codec_config");
  model.erase("pretrained_audio_codec");
}

/// A folder of this machine gives the tokenizer and, where the speech model reads them, the
/// embeddings of the texts.
void read_text_model(Config& model, Keys& keys, ConfigNotes& notes) {
  const Config* const found = model.find("pretrained_lm_name");
  if (found == nullptr || !found->is_scalar()) return;
  const Config folder = *found;
  if (!fs::is_directory(folder.text())) return;
  model.erase("pretrained_lm_name");
  if (model.find("tokenizer") == nullptr) {
    keys.set("model.tokenizer.name", Config::scalar("hf"));
    keys.set("model.tokenizer.path", folder);
  }
  const Config* const width = model.find_path("tts_config.context_hidden_size");
  if (width != nullptr && !width->is_null() && model.find("text_embedding") == nullptr) {
    keys.set("model.text_embedding.path", folder);
  }
  notes.others.push_back(config_place("model.pretrained_lm_name", folder) +
                         ": read as model.tokenizer");
}

}  // namespace

void move_nemo_keys(Config& config, const std::string& type, ConfigNotes& notes) {
  Keys keys(config, notes);
  for (const Move& one : kMoves) {
    if (*one.type == '\0' || one.type == type) keys.move(one.theirs, one.ours);
  }
  const Config* const tokenizer = config.find_path("model.tokenizer");
  if (tokenizer != nullptr && tokenizer->is_map() && tokenizer->find("name") == nullptr) {
    keys.set("model.tokenizer.name", Config::scalar("hf"));
  }
  for (const Idle& one : kIdle) keys.drop(one, type);
  for (const char* key : kNone) keys.drop_null(key);
  const Config* const tokens = config.find_path("model.override_tokens");
  if (tokens != nullptr && tokens->is_map() && tokens->entries().empty()) {
    keys.erase("model.override_tokens");
  }
}

void read_nemo_eartts(Config& config, ConfigNotes& notes) {
  Keys keys(config, notes);
  Config& model = config["model"];
  read_codec(model, notes);
  read_text_model(model, keys, notes);
  const Config* const guided = model.find("inference_guidance_enabled");
  if (guided != nullptr && guided->is_scalar() && guided->text() == "false") {
    keys.set("model.generation.guidance_scale", Config());
    model.erase("inference_guidance_enabled");
    model.erase("inference_guidance_scale");
  }
}

}  // namespace s2s::run
