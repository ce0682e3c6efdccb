#pragma once
// Options of NemotronVoiceChat: the `model` block of a configuration, except for the keys that the
// trainer reads. Names are those of NeMo's class.

#include <optional>
#include <string>
#include <vector>

#include "s2s/foreign_class.h"
#include "s2s/model_parts.h"
#include "s2s/options.h"

namespace s2s::nemotron_voicechat {

/// The model that listens and writes.
struct ListenerOptions {
  Config model;
  void visit(OptionVisitor& v) {
    v("model", model, "the `model` block of the model that listens; its `type` is duplex_stt");
  }
};

/// The model that speaks the text that the other one writes.
struct SpeakerOptions {
  Config model;
  Config data;
  void visit(OptionVisitor& v) {
    v("model", model, "the `model` block of the model that speaks; its `type` is duplex_eartts");
    v("data", data, "its `data` block; keys that it lacks are those of the whole");
  }
};

struct VoiceChatOptions {
  ListenerOptions stt;
  SpeakerOptions speech_generation;
  std::optional<std::string> inference_speaker_reference;
  void visit(OptionVisitor& v) {
    v("stt", stt, "listens and writes");
    v("speech_generation", speech_generation, "speaks what is written");
    v("inference_speaker_reference", inference_speaker_reference,
      "audio file with the voice that speaks; null: that of the model that speaks");
  }
};

/// Converts NeMo's configuration, {model, llm_config, tokens}, to options of the reference mode.
/// Errors: [model/translate].
Config translate_nemo(const Config& foreign);
/// NeMo's NemotronVoiceChat.
std::vector<ForeignClass> foreign_classes();

}  // namespace s2s::nemotron_voicechat
