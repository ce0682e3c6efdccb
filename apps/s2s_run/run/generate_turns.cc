// generate --prompt: speech of a model that speaks the next turn of a conversation.

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "audio/wave_file.h"
#include "base/foreign_json.h"
#include "cuts/cut_files.h"
#include "s2s/foreign_text.h"
#include "s2s_run/run/generate.h"
#include "text/document_encoder.h"
#include "text/text_errors.h"

namespace s2s::run {
namespace {

using data::text_errors::spoken_text;
using data::text_errors::spoken_turns;
using nlohmann::json;

/// Turns that were spoken, and the one to speak.
struct TurnsPrompt {
  std::string asked;  // the text to speak, after its speaker
  std::vector<SpokenTurn> turns;
};

/// A speaker's number; nothing for other texts.
std::optional<int64_t> speaker_of(std::string_view digits) {
  if (digits.empty() || digits.front() == '-') return std::nullopt;
  int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool is_whole = error == std::errc() && end == digits.data() + digits.size();
  return is_whole ? std::optional(number) : std::nullopt;
}

/// A text as [0]text, or without a speaker. Errors: [data/spoken-text].
TurnsPrompt turns_of_text(const std::string& text, const std::string& place) {
  std::string words = text;
  if (text.starts_with('[')) {
    const size_t end = std::min(text.find(']'), text.size());
    if (!speaker_of(text.substr(1, end - 1)) || end == text.size()) {
      throw spoken_text(place, fmt::format("'{}' begins with a bracket, but not with the number of "
                                           "a speaker",
                                           printable(text)));
    }
    words = text.substr(end + 1);
  }
  if (words.find_first_not_of(" \t\r") == std::string::npos) {
    throw spoken_text(place, "there is no text");
  }
  return {text, {{std::nullopt, text, {}}}};
}

/// The texts of the parts of a message, of type "text" or "audio".
struct MessageParts {
  std::optional<std::string> text, audio_path;
};

/// Errors: [data/spoken-turns].
MessageParts parts_of(const json& content, const std::string& place) {
  MessageParts parts;
  if (!content.is_array()) throw spoken_turns(place, "\"content\" is not a list");
  for (const json& part : content) {
    const std::string type = part.is_object() ? part.value("type", json()).dump() : "";
    const bool is_text = type == "\"text\"";
    if (!is_text && type != "\"audio\"") {
      throw spoken_turns(place, "a part of \"content\" is neither text nor audio");
    }
    std::optional<std::string>& found = is_text ? parts.text : parts.audio_path;
    const char* const key = is_text ? "text" : part.contains("audio") ? "audio" : "path";
    if (found || !part.contains(key) || !part[key].is_string()) {
      throw spoken_turns(place, fmt::format("\"content\" does not have exactly one \"{}\"", key));
    }
    found = part[key].get<std::string>();
  }
  return parts;
}

/// A conversation as transformers' chat templates take it.
class TurnsReader {
 public:
  /// channel: of the recordings.
  TurnsReader(int64_t channel, int64_t sample_rate_hz)
      : channel_(channel), sample_rate_hz_(sample_rate_hz) {}

  /// Errors: [data/prompt], [data/spoken-text], [data/spoken-turns], those of read_wave.
  TurnsPrompt of_object(const json& object, const data::LineOrigin& origin) const {
    if (!object.is_object() || !object.contains("messages")) {
      return turns_of_text(prompt_of_object(object, origin.text()), origin.text());
    }
    const json& messages = object["messages"];
    if (!messages.is_array() || messages.empty()) {
      throw spoken_turns(origin.text(), "\"messages\" is not a list of messages");
    }
    TurnsPrompt prompt;
    for (size_t i = 0; i < messages.size(); ++i) {
      prompt.turns.push_back(turn_of(messages[i], i + 1 == messages.size(), origin,
                                     fmt::format("{}: message {}", origin.text(), i + 1)));
    }
    const SpokenTurn& last = prompt.turns.back();
    prompt.asked = fmt::format("[{}]{}", *last.speaker, last.text);
    return prompt;
  }

 private:
  SpokenTurn turn_of(const json& message, bool is_last, const data::LineOrigin& origin,
                     const std::string& place) const {
    const bool has_keys = message.is_object() && message.contains("role") &&
                          message["role"].is_string() && message.contains("content");
    if (!has_keys) throw spoken_turns(place, "it lacks \"role\" or \"content\"");
    SpokenTurn turn;
    turn.speaker = speaker_of(message["role"].get<std::string>());
    if (!turn.speaker) throw spoken_turns(place, "\"role\" is not the number of a speaker");
    const MessageParts parts = parts_of(message["content"], place);
    if (!parts.text) throw spoken_turns(place, "it has no text");
    if (parts.audio_path.has_value() == is_last) {
      throw spoken_turns(place, is_last ? "it is the turn to speak, but has audio"
                                        : "it has no audio, and is not the last one");
    }
    turn.text = *parts.text;
    if (is_last && turn.text.empty()) throw spoken_text(place, "there is no text");
    if (!is_last) {
      turn.audio_S =
          read_wave(resolved_path(*parts.audio_path, origin.file), channel_, sample_rate_hz_)
              .samples_S;
    }
    return turn;
  }

  int64_t channel_, sample_rate_hz_;
};

std::vector<TurnsPrompt> turns_prompts_of(const GenerateArguments& arguments,
                                          const std::string& type, int64_t sample_rate_hz) {
  refuse_recordings(arguments, type);
  std::vector<TurnsPrompt> prompts;
  for (const std::string& text : arguments.prompts) {
    prompts.push_back(turns_of_text(text, "--prompt"));
  }
  const TurnsReader reader(arguments.channel, sample_rate_hz);
  for (const std::string& path : arguments.inputs) {
    const bool is_json = is_json_lines(path);
    read_prompt_lines(path, [&](const std::string& line, const data::LineOrigin& origin) {
      prompts.push_back(is_json ? reader.of_object(try_parse_foreign_json<json>(line), origin)
                                : turns_of_text(line, origin.text()));
    });
  }
  if (prompts.empty()) throw_no_input(type, kNoPrompts);
  return prompts;
}

/// Options that continue texts, and mean nothing for speech.
void refuse_text_options(const GenerateArguments& arguments, const std::string& type) {
  const std::array<std::pair<const char*, bool>, 6> given = {{
      {"--chat", arguments.chat},
      {"--system-prompt", !arguments.system_prompt.empty()},
      {"--stop", !arguments.text.stop.empty()},
      {"--end-token", !arguments.end_tokens.empty()},
      {"--num-beams", arguments.text.num_beams > 1},
      {"--repetition-penalty", arguments.sampling.repetition_penalty != 1},
  }};
  for (const auto& [option, is_given] : given) {
    if (!is_given) continue;
    throw_generate_usage(
        fmt::format("{} is for models that write text, and a model of type {} "
                    "speaks; leave it out",
                    option, type));
  }
}

}  // namespace

void speak_turns(const GenerateArguments& arguments, const std::string& type, SpeaksTurns& model) {
  refuse_text_options(arguments, type);
  const int64_t rate_hz = model.codec().shape().sample_rate_hz;
  const std::vector<TurnsPrompt> prompts = turns_prompts_of(arguments, type, rate_hz);
  SpokenFiles files(arguments, type, prompts.size(), rate_hz);
  SpeechOptions options;
  options.max_frames = arguments.text.max_new_tokens;
  options.sampling = arguments.sampling;
  const auto step = static_cast<size_t>(arguments.batch_size);
  for (size_t begin = 0; begin < prompts.size(); begin += step) {
    const size_t end = std::min(begin + step, prompts.size());
    std::vector<std::vector<SpokenTurn>> conversations;
    for (size_t i = begin; i < end; ++i) conversations.push_back(prompts[i].turns);
    const std::vector<SpokenAnswer> answers = model.speak(conversations, options);
    for (size_t i = begin; i < end; ++i) {
      const SpokenAnswer& answer = answers[i - begin];
      files.add(prompts[i].asked, answer.audio_S,
                {{"audio_tokens", code_lists(answer.codes_TK)}, {"ended", answer.is_ended}},
                answer.is_ended ? "" : ", cut off by --max-new-tokens");
    }
  }
}

}  // namespace s2s::run
