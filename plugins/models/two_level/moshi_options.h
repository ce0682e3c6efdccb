#pragma once
// Options of Moshi, named as in Hugging Face's config.json.

#include <optional>
#include <string>

#include "s2s/model_parts.h"
#include "s2s/nn/decoder.h"
#include "s2s/options.h"

namespace s2s::two_level {

/// The decoder that predicts the books of a frame in turn.
struct MoshiDepthOptions {
  int64_t hidden_size = 1024;
  int64_t num_hidden_layers = 6;
  int64_t num_attention_heads = 16;
  std::optional<int64_t> num_key_value_heads;
  std::optional<int64_t> head_dim;
  int64_t ffn_dim = 5632;
  double rms_norm_eps = 1e-8;
  void visit(OptionVisitor& v);
};

struct MoshiOptions {
  std::optional<std::string> path;
  int64_t vocab_size = 32000;
  int64_t hidden_size = 4096;
  int64_t num_hidden_layers = 32;
  int64_t num_attention_heads = 32;
  std::optional<int64_t> num_key_value_heads;
  std::optional<int64_t> head_dim;
  int64_t ffn_dim = 22528;
  int64_t audio_vocab_size = 2048;
  int64_t num_codebooks = 8;
  int64_t sliding_window = 3000;
  double rms_norm_eps = 1e-8;
  double rope_theta = 10000;
  double initializer_range = 0.02;
  std::optional<int64_t> pad_token_id;
  MoshiDepthOptions depth_decoder;
  Config codec;
  TokenIdOptions tokens;
  std::string loss_form = "next_frame";
  double text_loss_weight = 1;
  double depth_loss_weight = 1;
  double text_padding_weight = 1;
  std::optional<int64_t> end_of_padding_id;
  double first_codebook_weight = 1;

  void visit(OptionVisitor& v);
  /// True if losses follow transformers' class.
  bool as_transformers() const { return loss_form == "transformers"; }
};

/// The sizes of the main decoder. `path` names the options in messages.
/// Errors: [llm/sizes], [model/ffn-dim].
DecoderSpec main_spec(const MoshiOptions& options, const std::string& path);
/// The sizes of the depth decoder. Errors: as above.
DecoderSpec depth_spec(const MoshiOptions& options, const std::string& path);

/// Reads config.json as transformers 4 and 5 write it. Errors: [weights/config], all findings of a
/// block together.
Config moshi_from_hf(const Config& foreign);
/// Writes config.json for transformers, without the codec.
Config moshi_to_hf(const MoshiOptions& options);
/// Reads a reference file: losses follow transformers' class unless it sets `loss_form`.
Config moshi_reference_options(const Config& foreign);

}  // namespace s2s::two_level
