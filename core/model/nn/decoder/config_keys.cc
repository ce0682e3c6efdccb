// Lists of keys of Hugging Face's config.json.
// Source: transformers configuration classes and generation_config.json, versions 4.28 to 5.23;
// public folders of many families, also as Unsloth and axolotl export them.

#include "nn/decoder/config_keys.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace s2s {
namespace {

using KeyNames = std::set<std::string_view>;

/// Names, versions, storage dtypes, files of other programs.
const KeyNames kNamesAndVersions = {"architectures",
                                    "_name_or_path",
                                    "name_or_path",
                                    "transformers_version",
                                    "dtype",
                                    "torch_dtype",
                                    "use_cache",
                                    "bos_token_id",
                                    "eos_token_id",
                                    "sep_token_id",
                                    "unk_token_id",
                                    "decoder_start_token_id",
                                    "pretraining_tp",
                                    "auto_map",
                                    "return_dict",
                                    "output_attentions",
                                    "output_hidden_states",
                                    "torchscript",
                                    "use_bfloat16",
                                    "is_encoder_decoder",
                                    "is_decoder",
                                    "id2label",
                                    "label2id",
                                    "num_labels",
                                    "problem_type",
                                    "tokenizer_class",
                                    "prefix",
                                    "task_specific_params",
                                    "finetuning_task",
                                    "chunk_size_feed_forward",
                                    "_commit_hash",
                                    "_attn_implementation",
                                    "attn_implementation",
                                    "_attn_implementation_autoset",
                                    "_attn_implementation_internal",
                                    "_experts_implementation",
                                    "_flash_attn_2_enabled",
                                    "use_flash_attention",
                                    "use_flash_attention_2",
                                    "use_flash_attn",
                                    "use_sdpa",
                                    "gradient_checkpointing",
                                    "tf_legacy_loss",
                                    "license",
                                    "license_name",
                                    "language",
                                    "base_model",
                                    "transformers.js_config",
                                    "is_llama_config",
                                    "model_max_length",
                                    "max_sequence_length",
                                    "max_seq_len",
                                    "max_seq_length",
                                    "seq_length",
                                    "tokenizer_model_max_length",
                                    "tokenizer_padding_side",
                                    "padding_side",
                                    "model_name",
                                    "model_version",
                                    "logits_to_keep",
                                    "num_logits_to_keep",
                                    "keys_to_ignore_at_inference",
                                    "use_reentrant",
                                    "vocab_file",
                                    "onnx",
                                    "created_at",
                                    "date",
                                    "description",
                                    "author",
                                    "ignore_index",
                                    "processor_class",
                                    "cache_implementation",
                                    "_sliding_window_pattern",
                                    "sliding_window_size",
                                    "loss_type",
                                    "summary_type",
                                    "trust_remote_code",
                                    "revision"};

/// generation_config.json, which older versions wrote into config.json.
const KeyNames kGeneration = {"max_length",
                              "max_new_tokens",
                              "min_length",
                              "min_new_tokens",
                              "do_sample",
                              "early_stopping",
                              "num_beams",
                              "num_beam_groups",
                              "diversity_penalty",
                              "temperature",
                              "top_k",
                              "top_p",
                              "min_p",
                              "top_h",
                              "typical_p",
                              "epsilon_cutoff",
                              "eta_cutoff",
                              "repetition_penalty",
                              "encoder_repetition_penalty",
                              "length_penalty",
                              "no_repeat_ngram_size",
                              "encoder_no_repeat_ngram_size",
                              "bad_words_ids",
                              "force_words_ids",
                              "num_return_sequences",
                              "return_dict_in_generate",
                              "output_scores",
                              "output_logits",
                              "forced_bos_token_id",
                              "forced_eos_token_id",
                              "remove_invalid_values",
                              "exponential_decay_length_penalty",
                              "suppress_tokens",
                              "begin_suppress_tokens",
                              "forced_decoder_ids",
                              "sequence_bias",
                              "renormalize_logits",
                              "constraints",
                              "guidance_scale",
                              "penalty_alpha",
                              "max_time",
                              "stop_strings",
                              "token_healing",
                              "watermarking_config",
                              "generation_config",
                              "cache_config",
                              "prompt_lookup_num_tokens",
                              "num_assistant_tokens",
                              "num_assistant_tokens_schedule",
                              "assistant_confidence_threshold",
                              "assistant_early_exit",
                              "assistant_lookbehind",
                              "target_lookbehind",
                              "max_matching_ngram_size",
                              "is_assistant",
                              "dola_layers",
                              "low_memory",
                              "disable_compile",
                              "compile_config",
                              "prefill_chunk_size",
                              "_from_model_config",
                              "user_defined_symbols",
                              "chat_format",
                              "max_window_size",
                              "custom_generate",
                              "use_model_defaults",
                              "return_legacy_cache"};

/// Notes of training and packing programs.
constexpr std::array<std::string_view, 7> kNotePrefixes = {
    "unsloth_", "transformers.js", "_unsloth", "axolotl_", "wandb_", "_comment", "mlx_"};

/// Keys that change the results in some class of transformers and whose name no word gives away.
const KeyNames kArithmetic = {"hidden_act",
                              "hidden_activation",
                              "activation_function",
                              "mlp_bias",
                              "qkv_bias",
                              "o_bias",
                              "clip_qkv",
                              "tie_word_embeddings",
                              "alibi",
                              "parallel_attn",
                              "use_qk_norm",
                              "qk_layernorm",
                              "head_dim",
                              "d_model",
                              "n_embd",
                              "n_layer",
                              "n_head",
                              "multi_query",
                              "pruned_heads",
                              "resid_pdrop",
                              "embd_pdrop",
                              "attn_pdrop",
                              "layer_types",
                              "num_nextn_predict_layers",
                              "first_k_dense_replace",
                              "decoder_sparse_step",
                              "shared_intermediate_size",
                              "dim_model_base",
                              "scale_depth",
                              "kv_lora_rank",
                              "q_lora_rank",
                              "v_head_dim",
                              "hidden_size_per_layer_input"};

/// Words of the arithmetic. A new key that has one is assumed to change the results.
constexpr std::array<std::string_view, 37> kWords = {
    "scale",  "scaling", "multiplier", "softcap", "norm",       "rope",    "rotary", "moe",
    "expert", "router",  "attention",  "attn",    "bias",       "quant",   "mup",    "alibi",
    "window", "sparse",  "residual",   "_act",    "activation", "dropout", "clip",   "gate",
    "sink",   "latent",  "lora",       "mla",     "mamba",      "_conv",   "ssm",    "embedding",
    "cross",  "nope",    "yarn",       "altup",   "recurrent"};

bool has_word(std::string_view key, std::string_view word) {
  return key.find(word) != std::string_view::npos;
}

thread_local UnknownKeys* collector = nullptr;

}  // namespace

bool is_key_without_effect(const std::string& key) {
  if (kNamesAndVersions.count(key) != 0 || kGeneration.count(key) != 0) return true;
  return std::any_of(kNotePrefixes.begin(), kNotePrefixes.end(),
                     [&](std::string_view prefix) { return key.starts_with(prefix); });
}

bool is_key_of_arithmetic(const std::string& key) {
  if (kArithmetic.count(key) != 0) return true;
  std::string lower = key;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return has_word(lower, word); });
}

UnknownKeys::UnknownKeys() : outer_(collector) { collector = this; }
UnknownKeys::~UnknownKeys() { collector = outer_; }

bool UnknownKeys::add(const std::string& key) {
  if (collector == nullptr) return false;
  collector->names_.push_back(key);
  return true;
}

}  // namespace s2s
