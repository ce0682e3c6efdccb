#pragma once
// Options that decoder families share, under Hugging Face's names, and the reading of its
// config.json in the spellings of transformers 4 and 5.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "s2s/decoder.h"
#include "s2s/options.h"
#include "s2s/registry.h"

namespace s2s {

struct RopeScalingOptions {
  std::string rope_type = "default";
  double factor = 1.0;
  double low_freq_factor = 1.0;
  double high_freq_factor = 4.0;
  double original_max_position_embeddings = 8192;
  void visit(OptionVisitor& v);
};

struct DecoderOptions {
  std::optional<std::string> path;
  int64_t vocab_size = 32000;
  int64_t hidden_size = 512;
  int64_t intermediate_size = 1408;
  int64_t num_hidden_layers = 8;
  int64_t num_attention_heads = 8;
  std::optional<int64_t> num_key_value_heads;
  std::optional<int64_t> head_dim;
  std::string hidden_act = "silu";
  double rms_norm_eps = 1e-6;
  double rope_theta = 10000.0;
  RopeScalingOptions rope_scaling;
  bool tie_word_embeddings = false;
  bool attention_bias = false;
  bool mlp_bias = false;
  double initializer_range = 0.02;
  int64_t max_position_embeddings = 2048;
  std::optional<int64_t> pad_token_id;
  void visit(OptionVisitor& v);
};

/// Spellings of rope_scaling.rope_type that a family knows.
using RopeTypes = std::map<std::string, RotaryScaling>;

/// The facts that the options say. `path` names the options in messages ("model.llm").
/// Errors: [llm/sizes] for heads that do not fit each other, [llm/rope-type], [llm/pad-token].
DecoderFacts decoder_facts(const DecoderOptions& options, const RopeTypes& rope_types,
                           const std::string& path);

/// A Hugging Face config.json as options. Keys without effect on the numbers are dropped.
/// Errors: [weights/config], all findings together: another model_type than `model_types`, a key
/// that is not known, a value that is not implemented, a rope_type not in `rope_types`.
Config translate_decoder_config(const Config& foreign, const std::vector<std::string>& model_types,
                                const RopeTypes& rope_types);

/// `node` with what config.json says in the folder of its key `path` (when it has one) under it:
/// keys that are written in `node` win. `path` becomes absolute or relative to the working folder.
/// Errors: [weights/unreadable], [weights/json], those of `translate`.
Config with_folder_config(const Config& node, const BuildContext& context,
                          Config (*translate)(const Config& foreign));

}  // namespace s2s
