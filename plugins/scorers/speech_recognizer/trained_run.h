#pragma once
// A recognizer that a run trained: what its newest checkpoint says.

#include <string>

#include "s2s/build_context.h"
#include "speech_recognizer.h"

namespace s2s::speech_recognizer {

/// The newest checkpoint of a run folder, or `path` itself if it is a checkpoint of s2s; "": it is
/// neither.
std::string checkpoint_of_run(const std::string& path);

/// The parts of the model in the checkpoint. Its weights are to be loaded, by our names. Errors:
/// [scorer/not-a-recognizer], [scorer/model-change], those of the parts.
SpeechRecognizer::Parts parts_of_run(const std::string& checkpoint, const ConformerChange& change,
                                     const BuildContext& context);

}  // namespace s2s::speech_recognizer
