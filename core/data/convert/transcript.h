#pragma once
// Reads transcripts that are beside audio files.

#include <optional>
#include <string>
#include <vector>

#include "convert/turns.h"

namespace s2s::convert {

struct Transcript {
  std::vector<Spoken> spoken;               // words, phrases or turns, in the file's order
  std::optional<JsonText> text_conditions;  // for Moshi's files
};

/// Whether a file name has a transcript's extension.
bool is_transcript_name(const std::string& path);

/// Returns the file with the audio's name and the first of the extensions ".json", ".TextGrid",
/// ".srt", ".vtt" and ".txt" that exists.
std::optional<std::string> find_transcript(const std::string& audio_path);

/// Reads a transcript:
///  .json      Moshi's {"alignments": [[word, [start, end], speaker], ...]}; Whisper's {"segments":
///             [{"start", "end", "text", "words": [{"word", "start", "end"}], "speaker"}]} or only
///             the list; {"text": "..."}
///  .TextGrid  Praat's and Montreal Forced Aligner's: the tiers "words" or "SPEAKER - words";
///  without
///             them each tier of intervals, which is named after the speaker. Long and short form,
///             UTF-8 and UTF-16
///  .srt .vtt  subtitles; the speaker of WebVTT's <v NAME>
///  .txt       lines "start TAB end TAB text" (Audacity's labels), or one text for the whole audio
/// Times are in seconds. Errors: [data/missing-file], [data/transcript] with the place.
Transcript read_transcript(const std::string& path, double audio_s);

/// Parses the text of a TextGrid.
std::vector<Spoken> parse_text_grid(const std::string& text, const std::string& path);

/// Parses the text of a .srt or .vtt file. Returns a part for each subtitle, without its tags.
std::vector<Spoken> parse_subtitles(const std::string& text, const std::string& path);

/// Reads a whole file. Errors: [data/missing-file].
std::string read_text(const std::string& path);

}  // namespace s2s::convert
