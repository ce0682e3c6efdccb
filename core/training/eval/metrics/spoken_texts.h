#pragma once
// The texts of one validated example.

#include <array>
#include <optional>
#include <string>

namespace s2s {

/// Texts of one example. A text that was not produced is not set, which differs from "".
struct SpokenTexts {
  std::string reference;                       // the reference answer
  std::optional<std::string> text_channel;     // the model's text channel
  std::optional<std::string> heard_model;      // transcript of the model's audio
  std::optional<std::string> heard_reference;  // transcript of the reference audio
  // Transcript of the codec round trip of the reference.
  std::optional<std::string> heard_round_trip;
  std::string user_reference;               // what the user said
  std::optional<std::string> user_channel;  // what the model wrote of it
};

/// The source of a text, in the order of the report's columns.
enum class TextSource { kTextChannel, kModelAudio, kReferenceAudio, kRoundTripAudio };
inline constexpr std::array kTextSources = {TextSource::kTextChannel, TextSource::kModelAudio,
                                            TextSource::kReferenceAudio,
                                            TextSource::kRoundTripAudio};

/// Returns "text_channel", "model", "reference" or "round_trip".
const char* name_of(TextSource source);
const std::optional<std::string>& text_of(const SpokenTexts& texts, TextSource source);

}  // namespace s2s
