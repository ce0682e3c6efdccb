#pragma once
// The configuration that NeMo's classes need, from ours.

#include <string>

#include "s2s/config.h"

namespace s2s::run {

/// The `cfg` of the NeMo class that reads model.type: config.json of its folder for the hub. The
/// language model is named "llm_backbone", which NeMo replaces by the folder of that name.
/// `config`: of a run, with every default. `llm`: config.json of the language model, null where the
/// model has none. `folder`: the absolute path of the export. Errors: [checkpoint/export] for a
/// model type that is no class of NeMo, and for options without a counterpart there.
Config nemo_config(const Config& config, const Config& llm, const std::string& folder);

}  // namespace s2s::run
