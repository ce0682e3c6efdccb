// Translates Hugging Face's config.json to decoder options and back.
// Source: transformers configuration classes, versions 4.46 and 5.

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "base/text.h"
#include "nn/decoder/config_keys.h"
#include "s2s/nn/decoder_options.h"
#include "s2s/nn/weights.h"
#include "weights/weights_errors.h"

namespace s2s {
namespace {

using Names = std::set<std::string, std::less<>>;

/// Keys that have the same name as an option.
const Names kCopied = {
    "vocab_size",          "hidden_size",    "intermediate_size",       "num_hidden_layers",
    "num_attention_heads", "head_dim",       "num_key_value_heads",     "rms_norm_eps",
    "rope_theta",          "attention_bias", "tie_word_embeddings",     "mlp_bias",
    "initializer_range",   "pad_token_id",   "max_position_embeddings", "attention_dropout"};

const Names kNullable = {"num_key_value_heads", "head_dim", "pad_token_id"};

/// Keys that can change the results, with the values that do not. Null is always allowed.
const std::map<std::string, std::vector<std::string>> kHarmless = {
    {"hidden_act", {"silu", "swish"}},       {"hidden_dropout", {"0", "0.0"}},
    {"partial_rotary_factor", {"1", "1.0"}}, {"sliding_window", {}},
    {"use_sliding_window", {"false"}},       {"quantization_config", {}},
    {"add_cross_attention", {"false"}},      {"tie_encoder_decoder", {"false"}},
    {"cross_attention_hidden_size", {}},     {"pruned_heads", {"{}"}},
    {"rope_interleaved", {"false"}},         {"attention_multiplier", {"1", "1.0"}},
    {"logit_scale", {"1", "1.0"}},
};

/// Defaults of keys that a file may omit, as in most of transformers' classes.
const std::map<std::string, std::string> kDefaults = {{"rms_norm_eps", "1e-6"},
                                                      {"rope_theta", "10000.0"},
                                                      {"attention_bias", "false"},
                                                      {"mlp_bias", "false"},
                                                      {"tie_word_embeddings", "false"},
                                                      {"initializer_range", "0.02"},
                                                      {"max_position_embeddings", "2048"},
                                                      {"num_key_value_heads", "null"},
                                                      {"head_dim", "null"},
                                                      {"pad_token_id", "null"}};

/// Keys of rope_scaling and rope_parameters that are options.
const Names kRopeOptions = {
    "factor",    "low_freq_factor", "high_freq_factor", "original_max_position_embeddings",
    "beta_fast", "beta_slow",       "truncate",         "attention_factor",
    "mscale",    "mscale_all_dim",  "short_factor",     "long_factor"};

std::string quoted_list(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "'" : ", '") + name + "'";
  return list;
}

Config default_value(const std::string& text) {
  return text == "null" ? Config() : Config::scalar(text);
}

std::string value_text(const Config& node) {
  if (node.is_map()) return node.entries().empty() ? "{}" : "a map";
  if (node.is_list()) return node.items().empty() ? "[]" : "a list";
  return node.is_null() ? "null" : node.text();
}

class Translation {
 public:
  Translation(const Config& foreign, const ConfigRules& rules)
      : place_(foreign.origin().source.empty() ? "config.json" : foreign.origin().source),
        rules_(rules) {
    const Config* type = foreign.find("model_type");
    const std::string name = type == nullptr ? "" : type->text();
    if (!contains(rules.model_types, name)) {
      // The meaning of the other keys is unknown.
      throw weights_errors::family(place_, rules.prefix + "model_type", name,
                                   quoted_list(rules.model_types));
    }
    for (const auto& [key, value] : foreign.entries()) read(key, value);
  }

  /// Keys that the file omits get transformers' defaults, not those of s2s. Sizes have none.
  Config finish() {
    for (const auto& [key, text] : rules_.defaults) set_default(key, text);
    for (const auto& [key, text] : kDefaults) set_default(key, text);
    for (const char* size : {"vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers",
                             "num_attention_heads"}) {
      if (options_.find(size) == nullptr) refuse(size, "missing", "a number");
    }
    finish_rope();
    findings_.throw_if_any();
    return std::move(options_);
  }

  /// Translates the language model's block in the file of a larger model.
  Config finish_text_config() {
    const Config* block = options_.find("text_config");
    if (block == nullptr || !block->is_map()) {
      refuse("text_config", block == nullptr ? "missing" : value_text(*block), "a map");
    }
    findings_.throw_if_any();
    Config text = *block;
    const Config* outer = options_.find("tie_word_embeddings");
    const Config* inner = text.find("tie_word_embeddings");
    if (outer != nullptr && inner != nullptr && outer->text() != inner->text()) {
      refuse("tie_word_embeddings", value_text(*outer),
             value_text(*inner) + ", as text_config.tie_word_embeddings says");
      findings_.throw_if_any();
    }
    if (outer != nullptr) text["tie_word_embeddings"] = *outer;
    return text;
  }

 private:
  void refuse(const std::string& key, const std::string& value, const std::string& expected) {
    findings_.add(weights_errors::config(place_, rules_.prefix + key, value, expected));
  }

  void set_default(const std::string& key, const std::string& text) {
    if (options_.find(key) == nullptr) options_[key] = default_value(text);
  }

  void read(const std::string& name, const Config& value) {
    if (contains(rules_.options, name)) {
      options_[name] = value;
    } else if (contains(rules_.ignored, name)) {
      return;
    } else if (rules_.harmless.count(name) != 0) {
      check_harmless(name, value);
    } else if (name == "pad_token_id" && value_text(value) == "-1") {
      return;  // the oldest folders' way to write that there is none
    } else if (kCopied.count(name) != 0) {
      if (!value.is_null() || kNullable.count(name) != 0) options_[name] = value;
    } else if (name == "rope_scaling" || name == "rope_parameters") {
      if (!value.is_null()) read_rope(name, value);
    } else if (name != "model_type" && !is_key_without_effect(name)) {
      check_harmless(name, value);
    }
  }

  void check_harmless(const std::string& name, const Config& value) {
    auto rule = rules_.harmless.find(name);
    if (rule == rules_.harmless.end()) {
      rule = kHarmless.find(name);
      if (rule == kHarmless.end()) return read_unknown(name, value);
    }
    if (value.is_null() || contains(rule->second, value_text(value))) return;
    refuse(name, value_text(value), rule->second.empty() ? "null" : rule->second.front());
  }

  /// A switch that is off is ignored. Other unknown keys may change the results and are refused, or
  /// are reported by name.
  void read_unknown(const std::string& name, const Config& value) {
    const std::string text = value_text(value);
    if (value.is_null() || text == "false") return;
    if (is_key_of_arithmetic(name)) {
      return refuse(name, text, "no such key");
    }
    if (UnknownKeys::add(rules_.prefix + name)) return;
    std::vector<std::string> known(kCopied.begin(), kCopied.end());
    known.insert(known.end(), rules_.options.begin(), rules_.options.end());
    const std::string nearest = nearest_name(name, known);
    refuse(name, text, nearest.empty() ? "no such key" : "no such key, or '" + nearest + "'");
  }

  /// Reads rope_scaling of version 4 (type, or rope_type) or rope_parameters of version 5.
  void read_rope(const std::string& name, const Config& value) {
    if (!value.is_map()) return refuse(name, value_text(value), "a map or null");
    const bool is_by_type = rules_.has_local_rope && name == "rope_parameters";
    for (const auto& [key, item] : value.entries()) {
      const std::string place = name + "." + key;
      if (item.is_null()) continue;
      if (is_by_type && key == "full_attention" && item.is_map()) {
        for (const auto& [inner, number] : item.entries()) read_rope_key(place, inner, number);
      } else if (is_by_type && key == "sliding_attention" && item.is_map()) {
        for (const auto& [inner, number] : item.entries()) read_local_rope(place, inner, number);
      } else if (is_by_type) {
        refuse(place, value_text(item), "full_attention and sliding_attention");
      } else {
        read_rope_key(name, key, item);
      }
    }
  }

  void read_rope_key(const std::string& place, const std::string& key, const Config& item) {
    if (item.is_null()) return;
    if (key == "rope_theta") {
      options_["rope_theta"] = item;
    } else if (key == "rope_type" || key == "type") {
      read_rope_type(place + "." + key, item);
    } else if (key == "partial_rotary_factor") {
      check_harmless(key, item);
    } else if (kRopeOptions.count(key) != 0) {
      options_["rope_scaling"][key] = item;
    } else if (key != "finetuned") {  // a note of YaRN's authors
      refuse(place + "." + key, value_text(item), "no such key");
    }
  }

  /// Local layers use a separate base, which is never scaled.
  void read_local_rope(const std::string& place, const std::string& key, const Config& item) {
    if (key == "rope_theta") {
      options_["rope_local_base_freq"] = item;
    } else if (key != "rope_type" || item.text() != "default") {
      refuse(place + "." + key, value_text(item), "rope_theta, and rope_type 'default'");
    }
  }

  void read_rope_type(const std::string& place, const Config& value) {
    if (rules_.rope_types.count(value.text()) != 0) {
      options_["rope_scaling"]["rope_type"] = value;
      return;
    }
    std::vector<std::string> known;
    for (const auto& entry : rules_.rope_types) known.push_back(entry.first);
    refuse(place, "'" + value_text(value) + "'", quoted_list(known));
  }

  /// Scaling requires its factor. Unless set, the original length is that of the weights.
  void finish_rope() {
    Config& rope = options_["rope_scaling"];
    if (rope.find("rope_type") == nullptr) rope["rope_type"] = Config::scalar("default");
    if (rope.find("rope_type")->text() == "default") return;
    if (rope.find("rope_type")->text() == "longrope") return finish_long_rope(rope);
    if (rope.find("factor") == nullptr) refuse("rope_scaling.factor", "missing", "a number");
    if (rope.find("original_max_position_embeddings") == nullptr) {
      rope["original_max_position_embeddings"] = *options_.find("max_position_embeddings");
    }
  }

  /// Without a factor, the lengths say it. A written one of 1 means that there is none to apply.
  void finish_long_rope(Config& rope) {
    for (const char* key : {"short_factor", "long_factor"}) {
      const Config* const list = rope.find(key);
      if (list == nullptr || !list->is_list()) {
        refuse(std::string("rope_scaling.") + key, list == nullptr ? "missing" : value_text(*list),
               "a list of numbers");
      }
    }
    if (rope.find("original_max_position_embeddings") == nullptr) {
      rope["original_max_position_embeddings"] = *options_.find("max_position_embeddings");
    }
    const Config* const factor = rope.find("factor");
    if (factor != nullptr && rope.find("attention_factor") == nullptr &&
        std::strtod(value_text(*factor).c_str(), nullptr) == 1) {
      rope["attention_factor"] = Config::scalar("1.0");
    }
  }

  std::string place_;
  const ConfigRules& rules_;
  Config options_ = Config::map();
  Findings findings_;
};

}  // namespace

Config decoder_from_hf(const Config& foreign, const ConfigRules& rules) {
  return Translation(foreign, rules).finish();
}

Config text_config_of(const Config& foreign, const ConfigRules& rules) {
  return Translation(foreign, rules).finish_text_config();
}

namespace {

/// Options that have no key in config.json.
const Names kOwnOptions = {"path", "preset", "rope_scaling"};

/// Options that are floating-point in s2s and integers in transformers 5.
const Names kWholeKeys = {"original_max_position_embeddings", "query_pre_attn_scalar"};

/// Writes integral values of these keys without ".0".
Config written(const std::string& key, const Config& value) {
  const std::string& text = value.text();
  const bool is_whole = value.is_scalar() && text.ends_with(".0") && kWholeKeys.count(key) != 0;
  return is_whole ? Config::scalar(text.substr(0, text.size() - 2)) : value;
}

/// Keys of rope_scaling that each type reads. transformers warns about other keys.
const std::map<std::string, Names> kRopeKeys = {
    {"linear", {"factor"}},
    {"dynamic", {"factor", "original_max_position_embeddings"}},
    {"llama3",
     {"factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"}},
    {"yarn",
     {"factor", "original_max_position_embeddings", "beta_fast", "beta_slow", "truncate",
      "attention_factor", "mscale", "mscale_all_dim"}},
    {"longrope",
     {"factor", "original_max_position_embeddings", "attention_factor", "short_factor",
      "long_factor"}},
};

/// rope_scaling in the format of version 4, which version 5 also reads. Null without scaling.
Config rope_scaling(const Config* options) {
  const Config* type = options == nullptr ? nullptr : options->find("rope_type");
  const auto keys = type == nullptr ? kRopeKeys.end() : kRopeKeys.find(type->text());
  if (keys == kRopeKeys.end()) return {};
  Config scaling = Config::map();
  scaling["rope_type"] = Config::scalar(type->text(), true);
  for (const auto& [key, value] : options->entries()) {
    if (keys->second.count(key) != 0 && !value.is_null()) {
      scaling[key] = written(key, value);
    }
  }
  const Config* const factor = scaling.find("factor");
  const bool says_nothing = factor != nullptr && std::strtod(factor->text().c_str(), nullptr) == 1;
  if (type->text() == "longrope" && says_nothing) scaling.erase("factor");
  return scaling;
}

}  // namespace

Config decoder_to_hf(const Config& options, const std::string& model_type,
                     const std::string& architecture) {
  Config foreign = Config::map();
  foreign["architectures"] = Config::list({Config::scalar(architecture, true)});
  foreign["model_type"] = Config::scalar(model_type, true);
  for (const auto& [key, value] : options.entries()) {
    if (kOwnOptions.count(key) == 0 && !value.is_null()) {
      foreign[key] = written(key, value);
    }
  }
  foreign["rope_scaling"] = rope_scaling(options.find("rope_scaling"));
  // The defaults of transformers' classes belong to one tokenizer. Other models set the ids.
  foreign["bos_token_id"] = Config();
  foreign["eos_token_id"] = Config();
  return foreign;
}

}  // namespace s2s
