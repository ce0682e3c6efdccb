#include <algorithm>
#include <initializer_list>
#include <set>
#include <utility>

#include "nemo_audio_codec_options.h"
#include "s2s/nn/weights.h"

namespace s2s::nemo_audio_codec {
namespace {

std::string value_text(const Config* node) {
  if (node == nullptr || node->is_null()) return "null";
  return node->is_scalar() ? node->text() : "a block";
}

std::string class_of(const Config& block) {
  const Config* const target = block.find("_target_");
  const std::string name = target == nullptr ? "" : target->text();
  return name.substr(name.rfind('.') + 1);
}

const Config& block_of(const Config& foreign, const std::string& place, const char* key) {
  const Config* const block = foreign.find(key);
  if (block == nullptr || !block->is_map()) {
    throw_unsupported_config(place, key, value_text(block), "a block with a _target_");
  }
  return *block;
}

template <class T>
std::set<std::string> names_of() {
  std::set<std::string> names;
  for (const OptionRow& row : list_options<T>()) {
    names.insert(row.name.substr(0, row.name.find('.')));
  }
  return names;
}

/// The keys of a block that are options under the same name.
template <class T>
Config same_names(const Config& block, const std::string& place, const std::string& prefix) {
  static const std::set<std::string> known = names_of<T>();
  Config out = Config::map();
  for (const auto& [key, value] : block.entries()) {
    if (key == "_target_" || value.is_null()) continue;
    if (known.count(key) == 0) {
      throw_unsupported_config(place, prefix + "." + key, value_text(&value), "no such key");
    }
    out[key] = value;
  }
  return out;
}

/// An encoder or a decoder; `symmetric`: NeMo's class, which has a causal sister.
template <class T>
Config half_of(const Config& foreign, const std::string& place, const char* key,
               const std::string& symmetric) {
  const Config& block = block_of(foreign, place, key);
  const std::string name = class_of(block);
  if (name != symmetric && name != "Causal" + symmetric) {
    throw_unsupported_config(place, std::string(key) + "._target_", name,
                             symmetric + " or Causal" + symmetric);
  }
  Config half = same_names<T>(block, place, key);
  half["causal"] = Config::scalar(name == symmetric ? "false" : "true");
  if (const Config* const activation = half.find("activation")) {
    std::string lower = activation->text();
    std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    half["activation"] = Config::scalar(lower, true);
  }
  if (name != symmetric) half.erase("pad_mode");  // torch's own padding, of which there is none
  return half;
}

Config quantizer_of(const Config& foreign, const std::string& place) {
  const Config& block = block_of(foreign, place, "vector_quantizer");
  const std::string name = class_of(block);
  if (name == "GroupFiniteScalarQuantizer") {
    return same_names<QuantizerOptions>(block, place, "vector_quantizer");
  }
  if (name != "FiniteScalarQuantizer") {
    throw_unsupported_config(place, "vector_quantizer._target_", name,
                             "GroupFiniteScalarQuantizer or FiniteScalarQuantizer");
  }
  Config one = Config::map();
  for (const auto& [key, value] : block.entries()) {
    one[key == "num_levels" ? "num_levels_per_group" : key] = value;
  }
  one["num_groups"] = Config::scalar("1");
  return same_names<QuantizerOptions>(one, place, "vector_quantizer");
}

}  // namespace

Config from_nemo(const Config& foreign) {
  const std::string place =
      foreign.origin().source.empty() ? "model_config.yaml" : foreign.origin().source;
  const Config* const target = foreign.find("target");
  if (target != nullptr && !target->text().ends_with(".AudioCodecModel")) {
    throw_unsupported_config(place, "target", value_text(target), "an AudioCodecModel");
  }
  for (const char* key : {"semantic_codec", "semantic_codec_path"}) {
    const Config* const semantic = foreign.find(key);
    if (semantic != nullptr && !semantic->is_null()) {
      throw_unsupported_config(place, key, value_text(semantic), "null");
    }
  }
  Config options = Config::map();
  for (const char* key : {"sample_rate", "samples_per_frame"}) {
    const Config* const value = foreign.find(key);
    if (value == nullptr || !value->is_scalar()) {
      throw_unsupported_config(place, key, value_text(value), "a number");
    }
    options[key] = *value;
  }
  const Config* const output_rate = foreign.find("output_sample_rate");
  if (output_rate != nullptr && !output_rate->is_null() &&
      value_text(output_rate) != options["sample_rate"].text()) {
    throw_unsupported_config(place, "output_sample_rate", value_text(output_rate),
                             "sample_rate, " + options["sample_rate"].text());
  }
  options["audio_encoder"] =
      half_of<EncoderOptions>(foreign, place, "audio_encoder", "HiFiGANEncoder");
  options["vector_quantizer"] = quantizer_of(foreign, place);
  Config decoder = half_of<DecoderOptions>(foreign, place, "audio_decoder", "HiFiGANDecoder");
  if (decoder.find("n_groups_equal_to_out_channels") == nullptr) {  // differs by class
    const Config causal = *decoder.find("causal");
    decoder["n_groups_equal_to_out_channels"] = causal;
  }
  options["audio_decoder"] = std::move(decoder);
  return options;
}

}  // namespace s2s::nemo_audio_codec
