#pragma once
// Options of the recognizers.

#include <cstdint>
#include <optional>
#include <string>

#include "s2s/options.h"

namespace s2s::speech_recognizer {

struct SpeechRecognizerOptions {
  std::optional<std::string> path;
  Config model;
  std::string encoder = "fastconformer";
  int64_t batch_size = 16;

  void visit(OptionVisitor& v) {
    v("path", path,
      "a .nemo archive of an EncDecCTCModel, EncDecRNNTModel or hybrid model, the folder of one, "
      "a folder of ParakeetForCTC, ParakeetForRNNT or ParakeetForTDT, or the folder of a run that "
      "trained a recognizer (model.type: asr)");
    v("model", model,
      "the configuration of such a model; null: that of `path`. Without a path, weights are "
      "random");
    v("encoder", encoder, "the plugin that reads the model's encoder");
    v("batch_size", batch_size, "clips that are recognized at once", at_least(1));
  }
};

}  // namespace s2s::speech_recognizer
