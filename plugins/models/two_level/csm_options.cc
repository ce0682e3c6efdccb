#include "csm_options.h"

#include "hf_blocks.h"

namespace s2s::two_level {
namespace {

/// The keys of DecoderOptions in both decoders.
const std::vector<std::string>& size_keys() {
  static const std::vector<std::string> kKeys = {"hidden_size",
                                                 "intermediate_size",
                                                 "num_hidden_layers",
                                                 "num_attention_heads",
                                                 "num_key_value_heads",
                                                 "head_dim",
                                                 "rms_norm_eps",
                                                 "rope_theta",
                                                 "rope_scaling",
                                                 "attention_bias",
                                                 "mlp_bias",
                                                 "initializer_range",
                                                 "max_position_embeddings"};
  return kKeys;
}

void visit_sizes(OptionVisitor& v, DecoderOptions& o) {
  v("hidden_size", o.hidden_size, "width", at_least(1));
  v("intermediate_size", o.intermediate_size, "width of the gated MLP", at_least(1));
  v("num_hidden_layers", o.num_hidden_layers, "decoder blocks", at_least(1));
  v("num_attention_heads", o.num_attention_heads, "query heads", at_least(1));
  v("num_key_value_heads", o.num_key_value_heads, "key/value heads; null: as query heads",
    at_least(1));
  v("head_dim", o.head_dim, "width of a head; null: hidden_size / num_attention_heads",
    at_least(2));
  v("rms_norm_eps", o.rms_norm_eps, "epsilon of the norms", at_least(0));
  v("rope_theta", o.rope_theta, "base of the rotary angles", at_least(1));
  v("rope_scaling", o.rope_scaling, "scaling of the rotary angles");
  v("attention_bias", o.attention_bias, "biases in attention");
  v("mlp_bias", o.mlp_bias, "biases in the MLP");
  v("initializer_range", o.initializer_range, "standard deviation of random weights", at_least(0));
  v("max_position_embeddings", o.max_position_embeddings, "longest row", at_least(1));
}

DecoderSpec without_head(const DecoderOptions& options, const std::string& path) {
  DecoderOptions inner = options;
  inner.vocab_size = 1;              // its embedding is removed
  inner.tie_word_embeddings = true;  // and it has no head
  inner.pad_token_id = std::nullopt;
  inner.path = std::nullopt;  // the model reads the weights of all parts
  return decoder_spec(inner, all_rope_types(), path);
}

}  // namespace

CsmDepthOptions::CsmDepthOptions() {
  hidden_size = 1024;
  intermediate_size = 8192;
  num_hidden_layers = 4;
  num_attention_heads = 8;
  num_key_value_heads = 2;
  rms_norm_eps = 1e-5;
  rope_theta = 500000;
}

void CsmDepthOptions::visit(OptionVisitor& v) { visit_sizes(v, *this); }

CsmOptions::CsmOptions() {
  vocab_size = 2051;
  hidden_size = 2048;
  intermediate_size = 8192;
  num_hidden_layers = 16;
  num_attention_heads = 32;
  num_key_value_heads = 8;
  rms_norm_eps = 1e-5;
  rope_theta = 500000;
}

void CsmOptions::visit(OptionVisitor& v) {
  v("path", path, "folder of the model in Hugging Face's format; null: random weights");
  v("vocab_size", vocab_size, "codes of a codebook, control codes included", at_least(1));
  visit_sizes(v, *this);
  v("text_vocab_size", text_vocab_size, "text ids", at_least(1));
  v("num_codebooks", num_codebooks, "codebooks of a frame", at_least(2));
  v("audio_token_id", audio_token_id, "text id of frames", at_least(0));
  v("audio_eos_token_id", audio_eos_token_id, "text id of the audio's end", at_least(0));
  v("codebook_eos_token_id", codebook_eos_token_id, "code that ends the audio, in every book",
    at_least(0));
  v("speaker_id", speaker_id,
    "speaker of texts that name none, as [0] in front of a text; null: texts stay as they are",
    at_least(0));
  v("text_bos_id", text_bos_id, "id before the text of a row; null: the tokenizer's BOS",
    at_least(0));
  v("text_eos_id", text_eos_id, "id after the text of a row; null: the tokenizer's EOS",
    at_least(0));
  v("tie_codebooks_embeddings", tie_codebooks_embeddings,
    "one table of code embeddings for both decoders");
  v("depth_decoder", depth_decoder, "decoder over the codebooks of a frame");
  v("codec", codec, "audio codec: its name and options", "codec");
  v("loss_form", loss_form,
    "next_frame: normalized by the labelled frames of the optimizer step; transformers: by those "
    "of the micro-batch, as its class",
    one_of({"next_frame", "transformers"}));
  v("backbone_loss_weight", backbone_loss_weight, "loss weight of book 0", at_least(0));
  v("depth_loss_weight", depth_loss_weight, "loss weight of the other books", at_least(0));
}

DecoderSpec backbone_spec(const CsmOptions& options, const std::string& path) {
  return without_head(options, path);
}

DecoderSpec csm_depth_spec(const CsmOptions& options, const std::string& path) {
  return without_head(options.depth_decoder, path + ".depth_decoder");
}

namespace {

Config csm_depth_from_hf(const Config* found) {
  Config foreign = found == nullptr || found->is_null() ? Config::map() : *found;
  if (foreign.find("model_type") == nullptr) {
    foreign["model_type"] = Config::scalar("csm_depth_decoder_model");
  }
  ConfigRules rules{{"csm_depth_decoder_model"}, all_rope_types()};
  rules.ignored = {"vocab_size", "num_codebooks", "backbone_hidden_size", "codebook_size"};
  rules.ignored.insert(rules.ignored.end(), shared_ignored().begin(), shared_ignored().end());
  rules.harmless = {{"tie_word_embeddings", {"false"}}};
  rules.defaults = {
      {"vocab_size", "1"},        {"hidden_size", "1024"},      {"intermediate_size", "8192"},
      {"num_hidden_layers", "4"}, {"num_attention_heads", "8"}, {"num_key_value_heads", "2"},
      {"rms_norm_eps", "1e-5"},   {"rope_theta", "500000.0"},   {"max_position_embeddings", "33"}};
  rules.prefix = "depth_decoder_config.";
  return only_keys(decoder_from_hf(foreign, rules), size_keys());
}

}  // namespace

Config csm_from_hf(const Config& foreign) {
  ConfigRules rules{{"csm"}, all_rope_types()};
  rules.options = {"text_vocab_size",    "num_codebooks",         "audio_token_id",
                   "audio_eos_token_id", "codebook_eos_token_id", "tie_codebooks_embeddings",
                   "loss_form"};
  rules.ignored = {"codec_config",        "depth_decoder_config", "codebook_pad_token_id",
                   "tie_word_embeddings", "pad_token_id",         "codebook_size"};
  rules.ignored.insert(rules.ignored.end(), shared_ignored().begin(), shared_ignored().end());
  rules.defaults = {{"vocab_size", "2051"},        {"hidden_size", "2048"},
                    {"intermediate_size", "8192"}, {"num_hidden_layers", "16"},
                    {"num_attention_heads", "32"}, {"num_key_value_heads", "8"},
                    {"rms_norm_eps", "1e-5"},      {"rope_theta", "500000.0"}};
  const Config all = decoder_from_hf(foreign, rules);
  std::vector<std::string> kept = rules.options;
  kept.emplace_back("vocab_size");
  kept.insert(kept.end(), size_keys().begin(), size_keys().end());
  Config options = only_keys(all, kept);
  options["depth_decoder"] = csm_depth_from_hf(foreign.find("depth_decoder_config"));
  return options;
}

Config csm_to_hf(const CsmOptions& options) {
  const Config all = write_options(options);
  std::vector<std::string> kept = {
      "vocab_size",         "text_vocab_size",       "num_codebooks",           "audio_token_id",
      "audio_eos_token_id", "codebook_eos_token_id", "tie_codebooks_embeddings"};
  kept.insert(kept.end(), size_keys().begin(), size_keys().end());
  Config foreign = decoder_to_hf(only_keys(all, kept), "csm", "CsmForConditionalGeneration");
  Config depth = decoder_to_hf(only_keys(*all.find("depth_decoder"), size_keys()),
                               "csm_depth_decoder_model", "CsmDepthDecoderForCausalLM");
  depth["backbone_hidden_size"] = *all.find("hidden_size");
  for (const char* key : {"vocab_size", "num_codebooks"}) depth[key] = *all.find(key);
  foreign["depth_decoder_config"] = std::move(depth);
  return foreign;
}

Config csm_reference_options(const Config& foreign) {
  Config options = csm_from_hf(foreign);
  if (options.find("loss_form") == nullptr) options["loss_form"] = Config::scalar("transformers");
  return options;
}

}  // namespace s2s::two_level
