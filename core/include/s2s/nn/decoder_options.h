#pragma once
// Options that decoder families share, under Hugging Face's names, and a reader of Hugging Face's
// config.json in the formats of transformers 4 and 5.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "s2s/nn/decoder.h"
#include "s2s/options.h"
#include "s2s/registry.h"

namespace s2s {

/// How rotary positions are scaled; names and defaults are those of transformers.
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
  std::vector<double> short_factor, long_factor;
  void visit(OptionVisitor& v);
};

/// Options that all decoder families have; names are those of transformers.
struct DecoderOptions {
  std::optional<std::string> path;
  int64_t vocab_size = 32000;
  int64_t hidden_size = 512;
  int64_t intermediate_size = 1408;
  int64_t num_hidden_layers = 8;
  int64_t num_attention_heads = 8;
  std::optional<int64_t> num_key_value_heads;
  std::optional<int64_t> head_dim;
  std::string hidden_act = "silu";  // each family accepts only its own value
  double rms_norm_eps = 1e-6;
  double rope_theta = 10000.0;
  RopeScalingOptions rope_scaling;
  bool tie_word_embeddings = false;
  bool attention_bias = false;
  bool mlp_bias = false;
  double attention_dropout = 0;
  double initializer_range = 0.02;
  int64_t max_position_embeddings = 2048;
  std::optional<int64_t> pad_token_id;
  void visit(OptionVisitor& v);
};

/// Options of families with sliding-window layers. Add them to your own with `windows.visit(v)`.
struct WindowOptions {
  std::optional<int64_t> sliding_window;
  std::vector<std::string> layer_types;  // "full_attention", "sliding_attention"; empty: derived
  void visit(OptionVisitor& v);
};

/// Values of rope_scaling.rope_type that a family accepts.
using RopeTypes = std::map<std::string, RotaryScaling>;

/// Types that most families accept: default, linear, dynamic, llama3, yarn. Core also implements
/// longrope, of which each family's class in transformers reads other keys.
const RopeTypes& all_rope_types();

/// Converts options to a spec. `path` names the options in messages ("model.llm").
/// Errors: [llm/sizes] for head counts or sizes that do not match, [llm/rope-type],
/// [llm/pad-token].
DecoderSpec decoder_spec(const DecoderOptions& options, const RopeTypes& rope_types,
                         const std::string& path);

/// Sets the window and the local layers of `spec`, from layer_types or, when it is empty, from
/// `derived` (by layer, true: local).
/// Errors: [llm/layer-types] for a list of another length, and for local layers without a window.
void set_windows(const WindowOptions& options, std::vector<bool> derived, const std::string& path,
                 DecoderSpec& spec);

/// The same for a family in which all layers have the window, if it is given.
void set_windows(const WindowOptions& options, const std::string& path, DecoderSpec& spec);
/// Whether some layers have the window and others have none.
bool has_mixed_windows(const DecoderSpec& spec);

/// The inverse: the layer_types of a spec, one entry per layer.
std::vector<std::string> layer_types_of(const DecoderSpec& spec);

/// The keys that a family's config.json may have in addition to the keys of all decoders.
struct ConfigRules {
  std::vector<std::string> model_types;
  RopeTypes rope_types;
  /// Additional keys that are options under the same name; null stays null.
  std::vector<std::string> options = {};
  /// Keys that do not change the result. Checked before the shared list.
  std::vector<std::string> ignored = {};
  /// Keys of which only the listed values are supported, the usual value first. Null is always
  /// accepted. Checked before the shared list.
  std::map<std::string, std::vector<std::string>> harmless = {};
  /// Default values of keys that are missing in the file, where the family's class in transformers
  /// has unusual defaults.
  std::map<std::string, std::string> defaults = {};
  /// Local layers have their own rotary base, rope_local_base_freq; transformers 5 writes
  /// rope_parameters per layer type.
  bool has_local_rope = false;
  /// Prefix of keys in messages, when the rules are for a block of the file ("text_config.").
  std::string prefix = "";
};

/// Converts a Hugging Face config.json to options. Keys that do not change the result are dropped.
/// Errors: [weights/config], all findings together: a model_type that is not in the rules, an
/// unknown key, a value that is not implemented, a rope_type that is not in the rules.
Config decoder_from_hf(const Config& foreign, const ConfigRules& rules);

/// The block `text_config` of a multimodal model's config.json, plus the keys at the top level that
/// concern the language model. `rules` apply to the top level. Errors: [weights/config], as above;
/// also when both levels have a different tie_word_embeddings.
Config text_config_of(const Config& foreign, const ConfigRules& rules);

/// The inverse: a config.json that transformers 4 and 5 can read. `options`: all of a family's
/// options, from write_options; `architecture`: the class in transformers ("LlamaForCausalLM").
Config decoder_to_hf(const Config& options, const std::string& model_type,
                     const std::string& architecture);

/// Adds the keys of config.json in the folder `path` (if `node` has this key) to `node`; keys of
/// `node` win. Resolves `path` against the base folder. Calls the context's `warn` when the
/// language model is only a part of the model in the folder (its config.json has a text_config).
/// Errors: [weights/unreadable], [weights/json], those of `from_hf`.
Config with_folder_config(const Config& node, const BuildContext& context,
                          Config (*translate)(const Config& foreign));

/// False where `path` names a file, which has weights and no config.json. A path that is missing is
/// taken for a folder, which with_folder_config reports.
bool has_folder_config(const Config& node, const BuildContext& context);

}  // namespace s2s
