#include "s2s_run/run/transcript_formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "s2s/foreign_text.h"

namespace s2s::run {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kPause_s = 0.6;  // longer ones begin a new subtitle
constexpr size_t kSubtitleLetters = 84;

std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string srt_time(double seconds) {
  const auto ms = static_cast<int64_t>(std::llround(1000 * seconds));
  return fmt::format("{:02}:{:02}:{:02},{:03}", ms / 3600000, ms / 60000 % 60, ms / 1000 % 60,
                     ms % 1000);
}

size_t letters_of(const std::string& text) {
  const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80; };
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), begins));
}

/// Subtitles of one or two lines' length, which pauses part.
std::vector<RecognizedWord> subtitles(const Transcript& transcript) {
  std::vector<RecognizedWord> parts;
  for (const RecognizedWord& word : transcript.words) {
    const bool begins = parts.empty() || word.start_s - parts.back().end_s > kPause_s ||
                        letters_of(parts.back().text) + letters_of(word.text) >= kSubtitleLetters;
    if (begins) {
      parts.push_back(word);
    } else {
      parts.back().text += " " + word.text;
      parts.back().end_s = word.end_s;
    }
  }
  return parts;
}

}  // namespace

std::string transcript_text(const RecordingTranscript& recording, bool has_name) {
  const bool is_one = recording.channels.size() == 1;
  std::string out;
  for (const ChannelTranscript& channel : recording.channels) {
    if (has_name || !is_one) out += printable_name(recording.path);
    if (!is_one) out += fmt::format(", channel {}", channel.channel);
    if (has_name || !is_one) out += ": ";
    out += printable_name(channel.transcript.text) + "\n";
  }
  return out;
}

std::string transcript_json(const RecordingTranscript& recording) {
  std::string out;
  for (const ChannelTranscript& channel : recording.channels) {
    const Transcript& transcript = channel.transcript;
    Json line = {{"audio_filepath", recording.path},
                 {"duration", channel.duration_s},
                 {"pred_text", transcript.text}};
    if (recording.channels.size() > 1) line["channel"] = channel.channel;
    if (transcript.confidence) line["confidence"] = *transcript.confidence;
    line["words"] = Json::array();
    for (const RecognizedWord& word : transcript.words) {
      line["words"].push_back({{"word", word.text}, {"start", word.start_s}, {"end", word.end_s}});
      if (word.confidence) line["words"].back()["confidence"] = *word.confidence;
    }
    out += line_of(line);
  }
  return out;
}

std::string transcript_srt(const RecordingTranscript& recording) {
  std::vector<RecognizedWord> all;
  for (const ChannelTranscript& channel : recording.channels) {
    for (RecognizedWord part : subtitles(channel.transcript)) {
      part.text = printable_name(part.text);
      if (recording.channels.size() > 1) {
        part.text = fmt::format("[{}] {}", channel.channel, part.text);
      }
      all.push_back(part);
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const RecognizedWord& a, const RecognizedWord& b) {
    return a.start_s < b.start_s;
  });
  std::string out;
  for (size_t i = 0; i < all.size(); ++i) {
    out += fmt::format("{}\n{} --> {}\n{}\n\n", i + 1, srt_time(all[i].start_s),
                       srt_time(all[i].end_s), all[i].text);
  }
  return out;
}

std::string transcript_alignments(const RecordingTranscript& recording, int64_t agent_channel) {
  std::vector<std::pair<const RecognizedWord*, const char*>> words;
  for (const ChannelTranscript& channel : recording.channels) {
    const bool is_agent = channel.channel == agent_channel;
    for (const RecognizedWord& word : channel.transcript.words) {
      words.emplace_back(&word, is_agent ? "SPEAKER_MAIN" : "SPEAKER_USER");
    }
  }
  std::stable_sort(words.begin(), words.end(), [](const auto& a, const auto& b) {
    return a.first->start_s < b.first->start_s;
  });
  Json alignments = Json::array();
  for (const auto& [word, speaker] : words) {
    alignments.push_back({word->text, {word->start_s, word->end_s}, speaker});
  }
  return line_of({{"alignments", std::move(alignments)}});
}

}  // namespace s2s::run
