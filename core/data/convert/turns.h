#pragma once
// Who says what when, on its way from a transcript to supervisions.

#include <optional>
#include <string>
#include <vector>

#include "s2s/data/cuts.h"

namespace s2s::convert {

/// A word, a stretch of a turn, or a turn. Seconds on the audio's clock.
struct Spoken {
  std::string speaker;  // as the transcript names it; "": the file's only speaker
  double start_s = 0;
  double end_s = 0;
  std::string text;  // as written: white space at its begin says that words are told apart so
  std::vector<AlignedWord> words;
};

/// One Spoken for a word, with itself as its alignment.
Spoken spoken_word(std::string speaker, std::string text, double start_s, double end_s);

/// Sorted by start; what one speaker says with less than `pause_s` between becomes one turn, also
/// across the other's words. Texts are joined as they are where words begin with white space
/// (Whisper's), otherwise by blanks. What ends before it begins, or at once, is left out.
std::vector<Spoken> join_turns(std::vector<Spoken> spoken, double pause_s);

/// Without what begins at `end_s` or later; the last words end there.
std::vector<Spoken> until(std::vector<Spoken> turns, double end_s);

/// Turns of `cut`, in time, with ids "CUT-0", ... `audio_s`: length of the audio; what ends up to
/// half a second behind it is cut off there. Errors: [data/turn-time] at `place`.
void add_turns(const std::vector<Spoken>& turns, double audio_s, const std::string& language,
               const std::string& place, Cut& cut);

/// What differs from the audio's length by no more is cut off, or repaired at load time.
constexpr double kLengthTolerance_s = 0.5;

}  // namespace s2s::convert
