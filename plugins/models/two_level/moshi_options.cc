#include "moshi_options.h"

#include "hf_blocks.h"
#include "kyutai.h"
#include "s2s/nn/decoder_options.h"
#include "two_level_errors.h"

namespace s2s::two_level {

void MoshiDepthOptions::visit(OptionVisitor& v) {
  v("hidden_size", hidden_size, "width", at_least(1));
  v("num_hidden_layers", num_hidden_layers, "decoder blocks", at_least(1));
  v("num_attention_heads", num_attention_heads, "query heads", at_least(1));
  v("num_key_value_heads", num_key_value_heads, "key/value heads; null: as query heads",
    at_least(1));
  v("head_dim", head_dim, "width of a head; null: hidden_size / num_attention_heads", at_least(1));
  v("ffn_dim", ffn_dim, "rows of fc1, gate and value together", at_least(2));
  v("rms_norm_eps", rms_norm_eps, "epsilon of the norms", at_least(0));
}

void MoshiOptions::visit(OptionVisitor& v) {
  v("path", path, "folder of the model in Hugging Face's or Kyutai's format; null: random weights");
  v("vocab_size", vocab_size, "text ids; one more, the last, begins the text channel", at_least(1));
  v("hidden_size", hidden_size, "width of the main decoder", at_least(1));
  v("num_hidden_layers", num_hidden_layers, "its decoder blocks", at_least(1));
  v("num_attention_heads", num_attention_heads, "its query heads", at_least(1));
  v("num_key_value_heads", num_key_value_heads, "its key/value heads; null: as query heads",
    at_least(1));
  v("head_dim", head_dim, "width of a head; null: hidden_size / num_attention_heads", at_least(2));
  v("ffn_dim", ffn_dim, "rows of its fc1, gate and value together", at_least(2));
  v("audio_vocab_size", audio_vocab_size, "codes of a codebook", at_least(1));
  v("num_codebooks", num_codebooks, "codebooks of the agent, and of the user", at_least(1));
  v("sliding_window", sliding_window, "frames that a frame sees, including its own", at_least(1));
  v("rms_norm_eps", rms_norm_eps, "epsilon of the norms", at_least(0));
  v("rope_theta", rope_theta, "base of the rotary angles", at_least(1));
  v("initializer_range", initializer_range, "standard deviation of random weights", at_least(0));
  v("pad_token_id", pad_token_id, "text id whose embedding gets no gradient; null: none",
    at_least(0));
  v("depth_decoder", depth_decoder, "decoder over the codebooks of a frame");
  v("codec", codec, "audio codec: its name and options", "codec");
  v("tokens", tokens, "special token ids");
  v("loss_form", loss_form,
    "next_frame: the state of frame t predicts frame t + 1, as in generation; transformers: the "
    "losses of its class, normalized by the micro-batch",
    one_of({"next_frame", "transformers"}));
  v("text_loss_weight", text_loss_weight, "loss weight of the text channel", at_least(0));
  v("depth_loss_weight", depth_loss_weight, "loss weight of the codebooks", at_least(0));
  v("text_padding_weight", text_padding_weight,
    "weight of PAD and end_of_padding_id labels in the text loss", at_least(0));
  v("end_of_padding_id", end_of_padding_id,
    "text id of the frame before a word, which is no text (data.end_of_padding_id; Moshi: 0); "
    "null: none",
    at_least(0));
  v("first_codebook_weight", first_codebook_weight, "weight of book 0 in the loss of the codebooks",
    at_least(0));
}

namespace {

/// Copies the sizes that both decoders have.
template <class Sizes>
DecoderSpec spec_of(const Sizes& sizes, const std::string& path) {
  if (sizes.ffn_dim % 2 != 0) throw ffn_dim_error(path + ".ffn_dim", sizes.ffn_dim);
  DecoderOptions options;
  options.hidden_size = sizes.hidden_size;
  options.intermediate_size = sizes.ffn_dim / 2;
  options.num_hidden_layers = sizes.num_hidden_layers;
  options.num_attention_heads = sizes.num_attention_heads;
  options.num_key_value_heads = sizes.num_key_value_heads;
  options.head_dim = sizes.head_dim;
  options.rms_norm_eps = sizes.rms_norm_eps;
  return decoder_spec(options, {{"default", RotaryScaling::kNone}}, path);
}

}  // namespace

DecoderSpec main_spec(const MoshiOptions& options, const std::string& path) {
  DecoderSpec spec = spec_of(options, path);
  spec.shape.vocab_size = options.vocab_size;
  spec.rotary.theta = options.rope_theta;
  spec.initializer_range = options.initializer_range;
  spec.padding_idx = options.pad_token_id.value_or(-1);
  // Without a cache, transformers' class uses no window; Kyutai's code also trains with it.
  if (options.as_transformers()) return spec;
  spec.attention.window = options.sliding_window;
  spec.local_layers.assign(static_cast<size_t>(options.num_hidden_layers), true);
  return spec;
}

DecoderSpec depth_spec(const MoshiOptions& options, const std::string& path) {
  DecoderSpec spec = spec_of(options.depth_decoder, path + ".depth_decoder");
  spec.initializer_range = options.initializer_range;
  return spec;
}

namespace {

/// Translates a block with another name for the gated width.
Config sizes_from_hf(Config foreign, const ConfigRules& rules) {
  if (const Config* found = foreign.find("ffn_dim")) {
    const Config width = *found;
    foreign["intermediate_size"] = width;
  }
  foreign.erase("ffn_dim");
  Config options = decoder_from_hf(foreign, rules);
  const Config width = *options.find("intermediate_size");
  options["ffn_dim"] = width;
  return options;
}

Config depth_from_hf(const Config* found) {
  Config foreign = found == nullptr || found->is_null() ? Config::map() : *found;
  if (foreign.find("model_type") == nullptr) foreign["model_type"] = Config::scalar("moshi_depth");
  ConfigRules rules{{"moshi_depth"}, {{"default", RotaryScaling::kNone}}};
  // Keys that repeat the main decoder's, and the window, which always covers a frame.
  rules.ignored = {"audio_vocab_size", "num_codebooks",           "input_size",
                   "sliding_window",   "max_position_embeddings", "vocab_size"};
  rules.ignored.insert(rules.ignored.end(), shared_ignored().begin(), shared_ignored().end());
  rules.harmless = {{"tie_word_embeddings", {"false"}}};
  rules.defaults = {{"vocab_size", "1"},           {"hidden_size", "1024"},
                    {"num_hidden_layers", "6"},    {"num_attention_heads", "16"},
                    {"intermediate_size", "5632"}, {"rms_norm_eps", "1e-8"}};
  rules.prefix = "depth_decoder_config.";
  return only_keys(sizes_from_hf(std::move(foreign), rules),
                   {"hidden_size", "num_hidden_layers", "num_attention_heads",
                    "num_key_value_heads", "head_dim", "ffn_dim", "rms_norm_eps"});
}

}  // namespace

Config moshi_from_hf(const Config& foreign) {
  if (is_kyutai_config(foreign)) return moshi_from_hf(kyutai_to_hf(foreign));
  ConfigRules rules{{"moshi", "personaplex"}, {{"default", RotaryScaling::kNone}}};
  rules.options = {"audio_vocab_size", "num_codebooks", "sliding_window", "loss_form"};
  rules.ignored = {"audio_encoder_config", "depth_decoder_config", "version"};
  rules.ignored.insert(rules.ignored.end(), shared_ignored().begin(), shared_ignored().end());
  rules.harmless = {{"tie_word_embeddings", {"false"}}};
  rules.defaults = {
      {"vocab_size", "32000"},       {"hidden_size", "4096"},        {"num_hidden_layers", "32"},
      {"num_attention_heads", "32"}, {"intermediate_size", "22528"}, {"rms_norm_eps", "1e-8"},
      {"audio_vocab_size", "null"},  {"num_codebooks", "8"},         {"sliding_window", "3000"}};
  Config options = only_keys(sizes_from_hf(foreign, rules),
                             {"vocab_size", "hidden_size", "num_hidden_layers",
                              "num_attention_heads", "num_key_value_heads", "head_dim", "ffn_dim",
                              "audio_vocab_size", "num_codebooks", "sliding_window", "rms_norm_eps",
                              "rope_theta", "initializer_range", "pad_token_id", "loss_form"});
  if (options.find("audio_vocab_size")->is_null()) {
    const Config* size = foreign.find_path("audio_encoder_config.codebook_size");
    options["audio_vocab_size"] = size == nullptr ? Config::scalar("2048") : *size;
  }
  options["depth_decoder"] = depth_from_hf(foreign.find("depth_decoder_config"));
  return options;
}

Config moshi_to_hf(const MoshiOptions& options) {
  const Config all = write_options(options);
  Config foreign = decoder_to_hf(
      only_keys(all, {"vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads",
                      "num_key_value_heads", "head_dim", "ffn_dim", "audio_vocab_size",
                      "num_codebooks", "sliding_window", "rms_norm_eps", "rope_theta",
                      "initializer_range", "pad_token_id"}),
      "moshi", "MoshiForConditionalGeneration");
  foreign["tie_word_embeddings"] = Config::scalar("false");
  Config depth = *all.find("depth_decoder");
  for (const char* key : {"num_key_value_heads", "head_dim"}) {
    if (depth.find(key)->is_null()) depth.erase(key);
  }
  depth["model_type"] = Config::scalar("moshi_depth", true);
  depth["input_size"] = *all.find("hidden_size");
  for (const char* key : {"vocab_size", "audio_vocab_size", "num_codebooks", "initializer_range"}) {
    depth[key] = *all.find(key);
  }
  // The window covers all books of a frame.
  depth["sliding_window"] = *all.find("num_codebooks");
  depth["max_position_embeddings"] = Config::scalar(std::to_string(options.num_codebooks + 1));
  foreign["depth_decoder_config"] = std::move(depth);
  return foreign;
}

Config moshi_reference_options(const Config& foreign) {
  Config options = moshi_from_hf(foreign);
  if (options.find("loss_form") == nullptr) options["loss_form"] = Config::scalar("transformers");
  return options;
}

}  // namespace s2s::two_level
