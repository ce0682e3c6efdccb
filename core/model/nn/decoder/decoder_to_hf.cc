#include <map>
#include <set>

#include "s2s/nn/decoder_options.h"

namespace s2s {
namespace {

/// Options of ours that are no keys of a config.json.
const std::set<std::string>& own_options() {
  static const std::set<std::string> names = {"path", "preset", "rope_scaling"};
  return names;
}

/// Keys that transformers 5 calls whole numbers, and options of ours that are not.
const std::set<std::string>& whole_keys() {
  static const std::set<std::string> names = {"original_max_position_embeddings",
                                              "query_pre_attn_scalar"};
  return names;
}

/// `value` as config.json says it: whole where it can be and has to.
Config written(const std::string& key, const Config& value) {
  const std::string& text = value.text();
  const bool is_whole = value.is_scalar() && text.ends_with(".0") && whole_keys().count(key) != 0;
  return is_whole ? Config::scalar(text.substr(0, text.size() - 2)) : value;
}

/// Keys of rope_scaling that each type reads; transformers warns of others.
const std::map<std::string, std::set<std::string>>& rope_keys() {
  static const std::map<std::string, std::set<std::string>> keys = {
      {"linear", {"factor"}},
      {"dynamic", {"factor", "original_max_position_embeddings"}},
      {"llama3",
       {"factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"}},
      {"yarn",
       {"factor", "original_max_position_embeddings", "beta_fast", "beta_slow", "truncate",
        "attention_factor", "mscale", "mscale_all_dim"}},
  };
  return keys;
}

/// rope_scaling in the spelling of version 4, which 5 reads too; null without scaling.
Config rope_scaling(const Config* options) {
  const Config* type = options == nullptr ? nullptr : options->find("rope_type");
  const auto keys = type == nullptr ? rope_keys().end() : rope_keys().find(type->text());
  if (keys == rope_keys().end()) return {};
  Config scaling = Config::map();
  scaling["rope_type"] = Config::scalar(type->text(), true);
  for (const auto& [key, value] : options->entries()) {
    if (keys->second.count(key) != 0 && !value.is_null()) {
      scaling[key] = written(key, value);
    }
  }
  return scaling;
}

}  // namespace

Config decoder_to_hf(const Config& options, const std::string& model_type,
                     const std::string& architecture) {
  Config foreign = Config::map();
  foreign["architectures"] = Config::list({Config::scalar(architecture, true)});
  foreign["model_type"] = Config::scalar(model_type, true);
  for (const auto& [key, value] : options.entries()) {
    if (own_options().count(key) == 0 && !value.is_null()) {
      foreign[key] = written(key, value);
    }
  }
  foreign["rope_scaling"] = rope_scaling(options.find("rope_scaling"));
  // What transformers' classes have by default is one tokenizer's; whoever has others sets them.
  foreign["bos_token_id"] = Config();
  foreign["eos_token_id"] = Config();
  return foreign;
}

}  // namespace s2s
