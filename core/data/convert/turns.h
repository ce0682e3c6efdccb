#pragma once
// Who says what and when: the form between a transcript and supervisions.

#include <optional>
#include <string>
#include <vector>

#include "s2s/data/cuts.h"

namespace s2s::convert {

/// A word, a phrase or a turn. Times are in seconds of the audio.
struct Spoken {
  std::string speaker;  // the transcript's name; "": the file's only speaker
  double start_s = 0;
  double end_s = 0;
  /// As written; white space at its begin means that words are joined without blanks.
  std::string text;
  std::vector<AlignedWord> words;
};

/// Returns a word whose alignment is the word itself.
Spoken spoken_word(std::string speaker, std::string text, double start_s, double end_s);

/// Sorts by start and joins what one speaker says to turns, if the pauses are shorter than
/// `pause_s`. The other speaker's words do not end a turn. Texts are concatenated if words begin
/// with white space (Whisper's), otherwise joined with blanks. Parts without a positive duration
/// are left out.
std::vector<Spoken> join_turns(std::vector<Spoken> spoken, double pause_s);

/// Removes what begins at `end_s` or later, and ends the last words there.
std::vector<Spoken> until(std::vector<Spoken> turns, double end_s);

/// Adds turns to `cut`, sorted by time, with ids "CUT-0", ... Turns that exceed the audio's length
/// `audio_s` by up to half a second end at it.
/// Errors: [data/turn-time] at `place`.
void add_turns(const std::vector<Spoken>& turns, double audio_s, const std::string& language,
               const std::string& place, Cut& cut);

/// Turns that exceed the audio by up to this are shortened, and audio that differs from its
/// manifest by up to this is repaired when it is loaded.
constexpr double kLengthTolerance_s = 0.5;

}  // namespace s2s::convert
