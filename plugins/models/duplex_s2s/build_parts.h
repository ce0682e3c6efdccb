#pragma once
// From options to parts: looks the names up, checks that the parts fit each other.

#include "duplex_model.h"

namespace s2s::duplex {

/// Errors: those of the parts, and [model/part-missing], [model/vocabulary], [model/token-id],
/// [model/frame-rate], [model/sample-rate].
DuplexParts build_parts(const DuplexOptions& options, const Config& model,
                        const ModelContext& context);

/// A NeMo speechlm2 configuration, {model, llm_config, codec, tokens}, as options of this model in
/// its reference mode.  Errors: [model/translate] for what changes the numbers and is not built.
Config translate_nemo(const Config& foreign);

}  // namespace s2s::duplex
