// Reads the keys of an encoder's config.json and preprocessor_config.json.

#include <algorithm>

#include "nn/decoder/config_keys.h"
#include "s2s/nn/speech_encoder.h"
#include "weights/weights_errors.h"

namespace s2s {
namespace {

bool is_one_of(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string text_of_value(const Config& value) {
  if (value.is_map()) return value.entries().empty() ? "{}" : "a map";
  if (value.is_list()) return value.items().empty() ? "[]" : "a list";
  return value.is_null() ? "null" : value.text();
}

std::string quoted_names(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "'" : ", '") + name + "'";
  return list;
}

/// Why the key cannot be read; empty: it changes nothing.
std::string expected_of(const std::string& key, const Config& value, const EncoderKeys& keys,
                        const std::string& prefix) {
  const std::string text = text_of_value(value);
  const auto rule = keys.harmless.find(key);
  if (rule != keys.harmless.end()) {
    if (is_one_of(rule->second, text)) return "";
    return rule->second.empty() ? "null" : rule->second.front();
  }
  if (text == "false" || is_key_without_effect(key)) return "";
  if (!is_key_of_arithmetic(key) && UnknownKeys::add(prefix + key)) return "";
  return "no such key";
}

}  // namespace

Config read_encoder_keys(const Config& block, const EncoderKeys& keys, const std::string& prefix) {
  const std::string place = block.origin().source.empty() ? "config.json" : block.origin().source;
  const Config* const type = block.find("model_type");
  if (!keys.model_types.empty() &&
      (type == nullptr || !is_one_of(keys.model_types, type->text()))) {
    // The meaning of the other keys is unknown.
    throw weights_errors::family(place, prefix + "model_type", type == nullptr ? "" : type->text(),
                                 quoted_names(keys.model_types));
  }
  Config options = Config::map();
  Findings findings;
  for (const auto& [key, value] : block.entries()) {
    if (value.is_null() || key == "model_type" || is_one_of(keys.ignored, key)) continue;
    if (is_one_of(keys.options, key)) {
      options[key] = value;
      continue;
    }
    const std::string expected = expected_of(key, value, keys, prefix);
    if (expected.empty()) continue;
    findings.add(weights_errors::config(place, prefix + key, text_of_value(value), expected));
  }
  findings.throw_if_any();
  return options;
}

}  // namespace s2s
