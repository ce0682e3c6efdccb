#pragma once
// Capabilities that a test knows its model to have.

#include "s2s/kinds/model_capabilities.h"

namespace s2s::test {

inline Codec& codec_of(Model& model) {
  return require_capability<HasCodec>(model, "test", "code").codec();
}
inline AnswersSpeech& speech_of(Model& model) {
  return require_capability<AnswersSpeech>(model, "test", "answer speech");
}

}  // namespace s2s::test
