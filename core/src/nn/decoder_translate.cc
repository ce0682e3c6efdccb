// Hugging Face's config.json as options of a decoder.
// Source: transformers configuration classes, versions 4.46 and 5.

#include <algorithm>
#include <filesystem>
#include <set>

#include "s2s/decoder_options.h"
#include "s2s/weights.h"
#include "weights/weights_errors.h"

namespace s2s {
namespace {

using Names = std::set<std::string, std::less<>>;

/// Keys that are options here under the same name.
const Names kCopied = {"vocab_size",          "hidden_size",         "intermediate_size",
                       "num_hidden_layers",   "num_attention_heads", "head_dim",
                       "num_key_value_heads", "rms_norm_eps",        "rope_theta",
                       "attention_bias",      "tie_word_embeddings", "mlp_bias",
                       "initializer_range",   "pad_token_id",        "max_position_embeddings"};

/// Keys that say nothing about the numbers: names, versions, types of storage, generation.
const Names kNoEffect = {"architectures",
                         "_name_or_path",
                         "transformers_version",
                         "dtype",
                         "torch_dtype",
                         "use_cache",
                         "bos_token_id",
                         "eos_token_id",
                         "sep_token_id",
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
                         "problem_type",
                         "tokenizer_class",
                         "prefix",
                         "task_specific_params",
                         "finetuning_task",
                         "chunk_size_feed_forward",
                         "_commit_hash",
                         "_attn_implementation",
                         "attn_implementation",
                         "_attn_implementation_autoset"};

/// Keys whose other values would change the numbers.
struct Neutral {
  const char* key;
  std::vector<std::string> values;  // texts that are harmless; null is harmless for all
};
const Neutral kNeutral[] = {
    {"hidden_act", {"silu", "swish"}},
    {"attention_dropout", {"0", "0.0"}},
    {"hidden_dropout", {"0", "0.0"}},
    {"partial_rotary_factor", {"1", "1.0"}},
    {"sliding_window", {}},
    {"use_sliding_window", {"false"}},
    {"quantization_config", {}},
    {"add_cross_attention", {"false"}},
    {"tie_encoder_decoder", {"false"}},
    {"cross_attention_hidden_size", {}},
    {"pruned_heads", {"{}"}},
    {"rope_interleaved", {"false"}},
    {"attention_multiplier", {"1", "1.0"}},
    {"logit_scale", {"1", "1.0"}},
};

constexpr std::pair<const char*, const char*> kDefaults[] = {
    {"rms_norm_eps", "1e-6"},           {"rope_theta", "10000.0"},
    {"attention_bias", "false"},        {"mlp_bias", "false"},
    {"tie_word_embeddings", "false"},   {"initializer_range", "0.02"},
    {"max_position_embeddings", "2048"}};

std::string value_text(const Config& node) {
  if (node.is_map()) return node.entries().empty() ? "{}" : "a map";
  if (node.is_list()) return node.items().empty() ? "[]" : "a list";
  return node.is_null() ? "null" : node.text();
}

class Translation {
 public:
  Translation(const Config& foreign, const RopeTypes& rope_types)
      : place_(foreign.origin().source.empty() ? "config.json" : foreign.origin().source),
        rope_types_(rope_types) {}

  void model_type(const Config* node, const std::vector<std::string>& known) {
    const std::string type = node == nullptr ? "" : node->text();
    if (std::find(known.begin(), known.end(), type) != known.end()) return;
    std::string expected;
    for (const std::string& name : known) expected += (expected.empty() ? "'" : ", '") + name + "'";
    refuse("model_type", "'" + type + "'", expected);
  }

  void key(const std::string& name, const Config& value) {
    if (name == "model_type" || kNoEffect.count(name) != 0) return;
    if (kCopied.count(name) != 0) {
      if (!value.is_null()) options_[name] = value;
    } else if (name == "rope_scaling" || name == "rope_parameters") {
      if (!value.is_null()) rope(name, value);
    } else {
      neutral(name, value);
    }
  }

  /// Keys that the file leaves out have transformers' defaults, not ours; sizes have none.
  Config finish() {
    for (const char* size : {"vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers",
                             "num_attention_heads"}) {
      if (options_.find(size) == nullptr) refuse(size, "missing", "a number");
    }
    for (const auto& [key, text] : kDefaults) {
      if (options_.find(key) == nullptr) options_[key] = Config::scalar(text);
    }
    for (const char* key : {"num_key_value_heads", "head_dim", "pad_token_id"}) {
      if (options_.find(key) == nullptr) options_[key] = Config();
    }
    Config& rope = options_["rope_scaling"];
    if (rope.find("rope_type") == nullptr) rope["rope_type"] = Config::scalar("default");
    findings_.throw_if_any();
    return std::move(options_);
  }

 private:
  void refuse(const std::string& key, const std::string& value, const std::string& expected) {
    findings_.add(weights_errors::config(place_, key, value, expected));
  }

  void neutral(const std::string& name, const Config& value) {
    const auto rule = std::find_if(std::begin(kNeutral), std::end(kNeutral),
                                   [&](const Neutral& entry) { return name == entry.key; });
    if (rule == std::end(kNeutral)) {
      const Names known = kCopied;
      const std::string nearest = nearest_name(name, {known.begin(), known.end()});
      refuse(name, value_text(value),
             nearest.empty() ? "no such key" : "no such key, or '" + nearest + "'");
      return;
    }
    const bool is_harmless = value.is_null() || std::count(rule->values.begin(), rule->values.end(),
                                                           value_text(value)) != 0;
    if (is_harmless) return;
    refuse(name, value_text(value), rule->values.empty() ? "null" : rule->values.front());
  }

  /// rope_scaling of version 4 (type, or rope_type), rope_parameters of version 5.
  void rope(const std::string& name, const Config& value) {
    if (!value.is_map()) return refuse(name, value_text(value), "a map or null");
    for (const auto& [key, item] : value.entries()) {
      if (key == "rope_theta") {
        options_["rope_theta"] = item;
      } else if (key == "rope_type" || key == "type") {
        rope_type(name + "." + key, item);
      } else if (key == "partial_rotary_factor") {
        neutral(key, item);
      } else if (key == "factor" || key == "low_freq_factor" || key == "high_freq_factor" ||
                 key == "original_max_position_embeddings") {
        options_["rope_scaling"][key] = item;
      } else {
        refuse(name + "." + key, value_text(item), "no such key");
      }
    }
  }

  void rope_type(const std::string& name, const Config& value) {
    if (rope_types_.count(value.text()) != 0) {
      options_["rope_scaling"]["rope_type"] = value;
      return;
    }
    std::string known;
    for (const auto& entry : rope_types_)
      known += (known.empty() ? "'" : ", '") + entry.first + "'";
    refuse(name, "'" + value_text(value) + "'", known);
  }

  std::string place_;
  const RopeTypes& rope_types_;
  Config options_ = Config::map();
  Findings findings_;
};

}  // namespace

Config translate_decoder_config(const Config& foreign, const std::vector<std::string>& model_types,
                                const RopeTypes& rope_types) {
  Translation translation(foreign, rope_types);
  translation.model_type(foreign.find("model_type"), model_types);
  for (const auto& [name, value] : foreign.entries()) translation.key(name, value);
  return translation.finish();
}

Config with_folder_config(const Config& node, const BuildContext& context,
                          Config (*translate)(const Config& foreign)) {
  const Config* path = node.find("path");
  if (path == nullptr || path->is_null()) return node;
  const std::string folder =
      resolve_path(path->as_string(context.path + ".path"), context.base_dir);
  Config merged = translate(read_json((std::filesystem::path(folder) / "config.json").string()));
  for (const auto& [key, value] : node.entries()) merged[key] = value;
  Config resolved = Config::scalar(folder, true);
  resolved.set_origin(path->origin());
  merged["path"] = std::move(resolved);
  merged.set_origin(node.origin());
  return merged;
}

}  // namespace s2s
