#include "s2s_run/checkpoint/nemo_class.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "s2s/error.h"
#include "s2s/foreign_text.h"

namespace s2s::run {
namespace {

/// A class, and beginnings of names that its checkpoints have. A beginning may be null.
struct Signature {
  NemoClass type;
  const char* has;
  const char* also;
};

/// The first that matches decides: some classes have the parts of those below them.
constexpr std::array kSignatures = {
    Signature{{"NemotronVoiceChat", "nemotron_voicechat"}, "stt_model.", nullptr},
    Signature{{"DuplexEARTTS", "duplex_eartts"}, "tts_model.", nullptr},
    Signature{{"DuplexS2SSpeechDecoderModel", "duplex_s2s_speech_decoder"},
              "speech_generation.",
              "perception."},
    Signature{{"DuplexS2SModel", "duplex_s2s"}, "embed_audio_tokens.", "perception."},
    Signature{{"SALMWithAsrDecoder", "salm"}, "perception.asr.", "llm."},
    Signature{{"SALMAutomodel", nullptr}, "llm.model.embed_tokens.", "perception."},
    Signature{{"SALM", "salm"}, "llm.model.", "perception."},
    Signature{{"SALM", "salm"}, "llm.base_model.", "perception."},
    Signature{{"DuplexSTTModel", "duplex_stt"}, "llm.layers.", "perception."},
};

bool holds(const WeightFiles& files, const char* begin) {
  if (begin == nullptr) return true;
  const auto found = files.facts().lower_bound(begin);
  return found != files.facts().end() && found->first.starts_with(begin);
}

const NemoClass* class_read_by(const std::string& model_type) {
  // From the end: SALM before its variants.
  const auto found =
      std::find_if(kSignatures.rbegin(), kSignatures.rend(), [&](const Signature& known) {
        return known.type.type != nullptr && known.type.type == model_type;
      });
  return found == kSignatures.rend() ? nullptr : &found->type;
}

std::string readable_classes() {
  std::string list;
  for (const Signature& known : kSignatures) {
    const std::string entry =
        known.type.type == nullptr ? "" : fmt::format("{} ({})", known.type.name, known.type.type);
    if (entry.empty() || list.find(entry) != std::string::npos) continue;
    list += (list.empty() ? "" : ", ") + entry;
  }
  return list;
}

[[noreturn]] void throw_class(const std::string& place, const std::string& found,
                              const std::string& model_type, const std::string& next) {
  const NemoClass* const wanted = class_read_by(model_type);
  const std::string expected =
      wanted == nullptr ? fmt::format("a checkpoint for model.type: {}", printable(model_type))
                        : fmt::format("a checkpoint of NeMo's {}, because model.type is {}",
                                      wanted->name, model_type);
  throw Error(ExitCode::kConfig, "checkpoint/class",
              fmt::format("'{}' is a checkpoint of NeMo's {}\n  expected: {}\n  next:     {}",
                          place, printable(found), expected, next));
}

}  // namespace

const NemoClass* nemo_class_named(const std::string& name) {
  const auto found = std::find_if(kSignatures.begin(), kSignatures.end(),
                                  [&](const Signature& known) { return known.type.name == name; });
  return found == kSignatures.end() ? nullptr : &found->type;
}

void throw_no_nemo_class(const std::string& place, const std::string& name) {
  throw Error(ExitCode::kConfig, "config/nemo-class",
              fmt::format("{}: this is a configuration of NeMo's {}, which no model here reads\n"
                          "  expected: one of {}\n"
                          "  next:     write the configuration of one of these",
                          place, printable(name), readable_classes()));
}

const NemoClass* nemo_class_of(const WeightFiles& files) {
  const auto found = std::find_if(
      kSignatures.begin(), kSignatures.end(),
      [&](const Signature& known) { return holds(files, known.has) && holds(files, known.also); });
  return found == kSignatures.end() ? nullptr : &found->type;
}

void check_nemo_class(const std::string& place, const WeightFiles& files, const std::string& target,
                      const std::string& model_type) {
  const std::string named = target.substr(target.rfind('.') + 1);
  const NemoClass* found = nemo_class_of(files);
  if (found == nullptr && !named.empty()) {
    found = nemo_class_named(named);
    if (found == nullptr) {
      throw_class(place, named, model_type,
                  "only classes of speechlm2 are imported: " + readable_classes());
    }
  }
  if (found == nullptr || (found->type != nullptr && found->type == model_type)) return;
  if (found->type == nullptr) {
    throw_class(place, found->name, model_type,
                "no model here reads this class; those that are read: " + readable_classes());
  }
  throw_class(place, found->name, model_type,
              fmt::format("write model.type: {} with the configuration of that model, or choose "
                          "another checkpoint; its perception alone is read by "
                          "model.pretrained_perception_from_s2s",
                          found->type));
}

}  // namespace s2s::run
