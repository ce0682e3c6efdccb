#pragma once
// The configuration that NeMo's classes need, from ours.

#include <cstdint>
#include <map>
#include <string>

#include "s2s/config.h"

namespace s2s::run {

/// What the configuration alone does not say.
struct NemoFacts {
  std::string folder;                                 // of the export, an absolute path
  int64_t codec_rate_hz = 0;                          // of the built model; 0: it has no codec
  bool has_token_loss_weight = false;                 // the user wrote the key
  std::map<std::string, std::string> special_tokens;  // NeMo's keys (bos_token): texts
};

/// The `cfg` of the NeMo class that reads model.type: config.json of its folder for the hub. The
/// language model is named "llm_backbone", which NeMo replaces by the folder of that name.
/// `config`: of a run, with every default. `llm`: config.json of the language model, null where the
/// model has none. Errors: [checkpoint/export] for a model type that is no class of NeMo, and for
/// options without a counterpart there.
Config nemo_config(const Config& config, const Config& llm, const NemoFacts& facts);

}  // namespace s2s::run
