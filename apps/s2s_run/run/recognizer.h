#pragma once
// The recognizer of a model that a user names by its path.

#include <memory>
#include <string>

#include "s2s/kinds/scorer.h"
#include "s2s/registry.h"

namespace s2s::run {

/// Creates the scorer `name` with `options`, which have a path. "": the scorer that the model there
/// asks for: whisper for such a folder, or else transducer, or ctc for a model without one.
/// Errors: those of the scorer.
std::unique_ptr<Scorer> create_recognizer(const std::string& name, Config options,
                                          const ScorerContext& context);

}  // namespace s2s::run
