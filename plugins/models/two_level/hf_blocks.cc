#include "hf_blocks.h"

namespace s2s::two_level {

const std::vector<std::string>& shared_ignored() {
  static const std::vector<std::string> kIgnored = {
      "model",          "trainer",       "keys_to_ignore_at_inference",
      "is_causal",      "output_scores", "sampling_rate",
      "do_sample",      "num_beams",     "return_dict_in_generate",
      "max_length",     "min_length",    "max_new_tokens",
      "base_config_key"};
  return kIgnored;
}

Config only_keys(const Config& options, const std::vector<std::string>& keys) {
  Config kept = Config::map();
  for (const std::string& key : keys) {
    if (const Config* value = options.find(key)) kept[key] = *value;
  }
  return kept;
}

}  // namespace s2s::two_level
