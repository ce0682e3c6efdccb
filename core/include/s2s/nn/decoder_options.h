#pragma once
// Options that decoder families share, under Hugging Face's names, and the reading of its
// config.json in the spellings of transformers 4 and 5.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "s2s/nn/decoder.h"
#include "s2s/options.h"
#include "s2s/registry.h"

namespace s2s {

/// How rotary positions are stretched; names and defaults are transformers'.
struct RopeScalingOptions {
  std::string rope_type = "default";
  double factor = 1.0;
  double low_freq_factor = 1.0;
  double high_freq_factor = 4.0;
  double original_max_position_embeddings = 8192;
  double beta_fast = 32;
  double beta_slow = 1;
  bool truncate = true;
  std::optional<double> attention_factor, mscale, mscale_all_dim;
  void visit(OptionVisitor& v);
};

/// Options that all families of decoders have; names are transformers'.
struct DecoderOptions {
  std::optional<std::string> path;
  int64_t vocab_size = 32000;
  int64_t hidden_size = 512;
  int64_t intermediate_size = 1408;
  int64_t num_hidden_layers = 8;
  int64_t num_attention_heads = 8;
  std::optional<int64_t> num_key_value_heads;
  std::optional<int64_t> head_dim;
  std::string hidden_act = "silu";  // a family's value is the only one it accepts
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

/// Options of families in which some layers see only the newest positions. Add them to one's own:
/// `windows.visit(v)`.
struct WindowOptions {
  std::optional<int64_t> sliding_window;
  std::vector<std::string> layer_types;  // "full_attention", "sliding_attention"; empty: derived
  void visit(OptionVisitor& v);
};

/// Spellings of rope_scaling.rope_type that a family knows.
using RopeTypes = std::map<std::string, RotaryScaling>;

/// All that core computes: default, linear, dynamic, llama3, yarn.
const RopeTypes& all_rope_types();

/// The spec that the options say. `path` names the options in messages ("model.llm").
/// Errors: [llm/sizes] for heads that do not fit each other, [llm/rope-type], [llm/pad-token].
DecoderSpec decoder_spec(const DecoderOptions& options, const RopeTypes& rope_types,
                         const std::string& path);

/// Sets the window and the local layers of `spec`: those that layer_types says, or, when it is
/// empty, `derived` (by layer, true: local).
/// Errors: [llm/layer-types] for a list of another length, and for local layers without a window.
void set_windows(const WindowOptions& options, std::vector<bool> derived, const std::string& path,
                 DecoderSpec& spec);

/// The inverse: what layer_types says of the spec, an entry for each layer.
std::vector<std::string> layer_types_of(const DecoderSpec& spec);

/// What a family's config.json may say beside what all decoders share.
struct ConfigRules {
  std::vector<std::string> model_types;
  RopeTypes rope_types;
  /// Further keys that are options under the same name; null stays null.
  std::vector<std::string> options = {};
  /// Keys without effect on the numbers, before what all decoders share.
  std::vector<std::string> ignored = {};
  /// Keys whose other values would change the numbers: the harmless ones, the usual one first; null
  /// is harmless for all. Before what all decoders share.
  std::map<std::string, std::vector<std::string>> harmless = {};
  /// Values of options that the file leaves out, where the family's class in transformers has
  /// others than most.
  std::map<std::string, std::string> defaults = {};
  /// Local layers have a rotary base of their own, rope_local_base_freq, and version 5 writes
  /// rope_parameters by layer type.
  bool has_local_rope = false;
  /// Before keys in messages, where the rules are for a block of the file ("text_config.").
  std::string prefix = "";
};

/// A Hugging Face config.json as options. Keys without effect on the numbers are dropped.
/// Errors: [weights/config], all findings together: another model_type than the rules', a key that
/// is not known, a value that is not implemented, a rope_type not among the rules'.
Config decoder_from_hf(const Config& foreign, const ConfigRules& rules);

/// The block `text_config` in the config.json of a larger model (one that also sees, say), with
/// what the keys beside it say about the language model. `rules` are for those keys. Errors:
/// [weights/config], as above; also for a tie_word_embeddings that the two disagree on.
Config text_config_of(const Config& foreign, const ConfigRules& rules);

/// The inverse: a config.json that transformers 4 and 5 read. `options`: all of a family's options,
/// as write_options gives them; `architecture`: the class in transformers ("LlamaForCausalLM").
Config decoder_to_hf(const Config& options, const std::string& model_type,
                     const std::string& architecture);

/// `node` with what config.json says in the folder of its key `path` (when it has one) under it:
/// keys that are written in `node` win. `path` becomes absolute or relative to the working folder.
/// Where the language model is only a part of the folder's (its config.json has a text_config), the
/// context's `warn` is told so.
/// Errors: [weights/unreadable], [weights/json], those of `from_hf`.
Config with_folder_config(const Config& node, const BuildContext& context,
                          Config (*translate)(const Config& foreign));

}  // namespace s2s
