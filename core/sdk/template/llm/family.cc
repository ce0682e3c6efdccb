#include "family.h"

namespace PLUGIN_NAME {
s2s::Config Family::from_hf(const s2s::Config& foreign) {
  s2s::ConfigRules rules;
  rules.model_types = {"PLUGIN_NAME"};
  rules.rope_types = s2s::all_rope_types();
  return s2s::decoder_from_hf(foreign, rules);
}

s2s::DecoderSpec Family::spec_of(const Options& options, const std::string& path) {
  return s2s::decoder_spec(options, s2s::all_rope_types(), path);
}

}  // namespace PLUGIN_NAME
