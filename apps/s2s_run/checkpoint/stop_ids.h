#pragma once
// The ids at which an exported language model stops, and the files that say them.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "s2s/config.h"
#include "s2s/registry.h"

namespace s2s::run {

struct StopToken {
  int64_t id = -1;
  std::string text;  // "": unknown
};

struct StopIds {
  std::optional<StopToken> bos;
  std::vector<StopToken> ends;  // first what the model was trained to stop at; empty: unknown
};

/// From the run's configuration and tokenizer: model.eos or the tokenizer's EOS, and the token that
/// ends a turn of the chat template. The ends of the folder that the model came with follow, where
/// they are special tokens of this tokenizer, too. A tokenizer that cannot be read gets a note.
StopIds stop_ids_of(const std::string& checkpoint, const Registries& registries);

/// Sets bos_token_id and eos_token_id of a config.json.
void set_stop_ids(const StopIds& ids, Config& foreign);

/// Makes the files of the tokenizer in an exported folder name what the model stops at first. A
/// folder with tokenizer.json alone gets a tokenizer_config.json. Errors: [io/write].
void write_tokenizer_ends(const StopIds& ids, const std::string& folder);

/// Makes generation_config.json and tokenizer_config.json of an exported folder say the same ids.
/// Errors: [io/write].
void write_stop_ids(const StopIds& ids, const std::string& folder);

}  // namespace s2s::run
