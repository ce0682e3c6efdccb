#pragma once
// The keys of PEFT's adapter_config.json: what each does here.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "s2s/error.h"

namespace s2s {

enum class AdapterKeyUse {
  kOption,    // an option of model.lora
  kNoEffect,  // it changes no number of a trained adapter
  kOnlyOff,   // it changes numbers and is not implemented
};

/// The use of a key; keys that nobody knows yet change numbers.
AdapterKeyUse adapter_key_use(std::string_view key);

/// Whether a value switches nothing on: null, false, and what is empty; the defaults of peft_type,
/// bias and init_lora_weights.
bool is_off_in_adapter(std::string_view key, const nlohmann::ordered_json& value);

/// [lora/adapter] for each key of `adapter` that changes numbers and is not implemented.
/// `place`: the file.
Findings refused_adapter_keys(const std::string& place, const nlohmann::ordered_json& adapter);

/// [lora/adapter]: "PLACE: 'KEY' is VALUE, expected EXPECTED".
Error adapter_key_error(const std::string& place, const std::string& key, const std::string& value,
                        const std::string& expected);

}  // namespace s2s
