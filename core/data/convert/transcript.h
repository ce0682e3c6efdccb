#pragma once
// Transcripts that lie beside audio files.

#include <optional>
#include <string>
#include <vector>

#include "convert/turns.h"

namespace s2s::convert {

struct Transcript {
  std::vector<Spoken> spoken;               // words, stretches or turns, in the file's order
  std::optional<JsonText> text_conditions;  // of Moshi's files
};

/// Whether a file's name ends as a transcript's.
bool is_transcript_name(const std::string& path);

/// The file with the audio's name and ".json", ".TextGrid", ".srt", ".vtt" or ".txt", in this
/// order.
std::optional<std::string> find_transcript(const std::string& audio_path);

/// Reads what these files hold:
///  .json      Moshi's {"alignments": [[word, [start, end], speaker], ...]}; Whisper's {"segments":
///             [{"start", "end", "text", "words": [{"word", "start", "end"}], "speaker"}]} or the
///             list alone; {"text": "..."}
///  .TextGrid  Praat's, of Montreal Forced Aligner: tier "words" or "SPEAKER - words", otherwise
///             each tier of intervals, named as the speaker. Long and short form, UTF-8 and UTF-16
///  .srt .vtt  subtitles; the speaker of WebVTT's <v NAME>
///  .txt       lines "start TAB end TAB text" (Audacity's labels), otherwise one text from begin to
///             end of the audio
/// Times in seconds. Errors: [data/missing-file], [data/transcript] with the place.
Transcript read_transcript(const std::string& path, double audio_s);

/// Of a TextGrid's text.
std::vector<Spoken> parse_text_grid(const std::string& text, const std::string& path);

/// Of the text of a .srt or .vtt file: a part for each subtitle, without its tags.
std::vector<Spoken> parse_subtitles(const std::string& text, const std::string& path);

/// The whole file. Errors: [data/missing-file].
std::string read_text(const std::string& path);

}  // namespace s2s::convert
