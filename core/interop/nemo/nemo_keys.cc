#include "nemo/nemo_keys.h"

#include <array>

namespace s2s::interop {
namespace {

constexpr const char* kUnread = "NeMo's classes do not read it";
constexpr const char* kNoPython = "no Python is run";
constexpr const char* kExperts = "the language models here have no experts";
constexpr const char* kOwnKernels = "plugins choose their kernels";
constexpr const char* kInRun = "the run folder has the answers of validations";
constexpr const char* kIsDefault = "this is the default";

constexpr std::array kModelKeys = {
    read_as("model.source_sample_rate", "data.source_sample_rate"),
    read_as("model.bos_token", "model.tokenizer.bos_token"),
    read_as("model.eos_token", "model.tokenizer.eos_token"),
    read_as("model.pad_token", "model.tokenizer.pad_token"),
    read_as("model.override_tokens.bos_token", "model.tokenizer.bos_token"),
    read_as("model.override_tokens.eos_token", "model.tokenizer.eos_token"),
    read_as("model.override_tokens.pad_token", "model.tokenizer.pad_token"),
    read_as("model.lora.dim", "model.lora.r"),
    read_as("model.lora.alpha", "model.lora.lora_alpha"),
    read_as("model.lora.dropout", "model.lora.lora_dropout"),
    no_effect("model.trust_remote_code", kNoPython),
    no_effect("model.validation_save_path", kInRun),
    no_effect("model.audio_save_path", kInRun),
    no_effect("model.use_nemo_automodel", "there is one implementation of each model"),
    no_effect("model.aux_loss_coeff", kExperts, "0"),
    no_effect("model.train_gate", kExperts, "false"),
    no_effect("model.moe_metrics", kExperts),
    no_effect("model.automodel_backend", kOwnKernels),
    no_effect("model.sdpa_method", kOwnKernels),
    no_effect("model.compile", "nothing is compiled while training"),
    no_effect("model.inference_guidance_enabled", kIsDefault, "true"),
    no_effect("model.llm_attr_name", "the plugin of the language model knows its parts"),
    no_effect("model.embed_tokens_attr_name", "the plugin of the language model knows its parts"),
    no_effect("model.incremental_loading", "tensors are read one at a time"),
    no_effect("model.text_embedding_weight", kUnread),
    no_effect("model.mask_sequence_padding", kUnread),
    no_effect("model.subword_mask_exactly_as_eartts", kUnread),
    no_effect("model.context_hidden_mask_exactly_as_eartts", kUnread),
    no_effect("data.add_text_bos_and_eos_in_each_turn", "every turn has both", "true"),
    // NeMo writes null for "none".
    no_effect("model.pretrained_tts_model", "", "null"),
    no_effect("model.pretrained_model", "", "null"),
    no_effect("model.pretrained_ae_dir", "", "null"),
    no_effect("model.pretrained_s2s_model", "", "null"),
    no_effect("model.init_from_checkpoint", "", "null"),
};

}  // namespace

ForeignKeys nemo_model_keys() { return kModelKeys; }

void take_nemo_keys(ConfigTranslation& translation) {
  translation.take(kModelKeys);
  Config& config = translation.config;
  const Config* const tokenizer = config.find_path("model.tokenizer");
  if (tokenizer != nullptr && tokenizer->is_map() && tokenizer->find("name") == nullptr) {
    translation.set("model.tokenizer.name", Config::scalar("hf"));
  }
  const Config* const tokens = config.find_path("model.override_tokens");
  if (tokens != nullptr && tokens->is_map() && tokens->entries().empty()) {
    translation.erase("model.override_tokens");
  }
}

}  // namespace s2s::interop
