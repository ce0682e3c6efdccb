#include "eval/metrics/spoken_texts.h"

#include "s2s/error.h"

namespace s2s {

const char* name_of(TextSource source) {
  switch (source) {
    case TextSource::kTextChannel:
      return "text_channel";
    case TextSource::kModelAudio:
      return "model";
    case TextSource::kReferenceAudio:
      return "reference";
    case TextSource::kRoundTripAudio:
      return "round_trip";
  }
  S2S_ASSERT(false, "every source has a name");
}

const std::optional<std::string>& text_of(const SpokenTexts& texts, TextSource source) {
  switch (source) {
    case TextSource::kTextChannel:
      return texts.text_channel;
    case TextSource::kModelAudio:
      return texts.heard_model;
    case TextSource::kReferenceAudio:
      return texts.heard_reference;
    case TextSource::kRoundTripAudio:
      return texts.heard_round_trip;
  }
  S2S_ASSERT(false, "every source has a text");
}

}  // namespace s2s
