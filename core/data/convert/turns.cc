#include "convert/turns.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "convert/convert_errors.h"
#include "s2s/data/frames.h"

namespace s2s::convert {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

void append(const Spoken& next, bool as_written, Spoken& turn) {
  turn.end_s = std::max(turn.end_s, next.end_s);
  if (!as_written && !turn.text.empty() && !next.text.empty()) turn.text += ' ';
  turn.text += next.text;
  turn.words.insert(turn.words.end(), next.words.begin(), next.words.end());
}

Supervision supervision(const Spoken& turn, double audio_s, const Cut& cut) {
  Supervision result;
  result.id = cut.id + "-" + std::to_string(cut.supervisions.size());
  result.recording_id = cut.recording ? cut.recording->id : cut.id;
  result.start_s = round_time(std::max(0.0, turn.start_s));
  result.duration_s = round_time(std::min(turn.end_s, audio_s) - result.start_s);
  result.channels = cut.channels;
  result.speaker = turn.speaker;
  if (!turn.text.empty()) result.text = turn.text;
  std::vector<AlignedWord> words;
  for (AlignedWord word : turn.words) {
    word.duration_s = round_time(std::min(word.end_s(), audio_s) - word.start_s);
    word.start_s = round_time(word.start_s);
    if (word.duration_s > 0) words.push_back(std::move(word));
  }
  if (!words.empty()) result.alignment.emplace_back("word", std::move(words));
  return result;
}

}  // namespace

Spoken spoken_word(std::string speaker, std::string text, double start_s, double end_s) {
  AlignedWord word;
  word.text = stripped(text);
  word.start_s = start_s;
  word.duration_s = end_s - start_s;
  return {std::move(speaker), start_s, end_s, std::move(text), {std::move(word)}};
}

std::vector<Spoken> join_turns(std::vector<Spoken> spoken, double pause_s) {
  std::stable_sort(spoken.begin(), spoken.end(),
                   [](const Spoken& a, const Spoken& b) { return a.start_s < b.start_s; });
  const bool as_written = std::any_of(spoken.begin(), spoken.end(), [](const Spoken& part) {
    return !part.text.empty() && is_blank(part.text.front());
  });
  std::vector<Spoken> turns;
  std::map<std::string, size_t> last;  // by speaker
  for (Spoken& next : spoken) {
    if (!(next.start_s < next.end_s)) continue;
    if (!as_written) next.text = stripped(next.text);
    const auto before = last.find(next.speaker);
    if (before != last.end() && next.start_s - turns[before->second].end_s < pause_s) {
      append(next, as_written, turns[before->second]);
      continue;
    }
    last[next.speaker] = turns.size();
    turns.push_back(std::move(next));
  }
  for (Spoken& turn : turns) turn.text = stripped(turn.text);
  return turns;
}

std::vector<Spoken> until(std::vector<Spoken> turns, double end_s) {
  std::erase_if(turns, [&](const Spoken& turn) { return turn.start_s >= end_s; });
  for (Spoken& turn : turns) {
    if (turn.end_s <= end_s) continue;
    turn.end_s = end_s;
    const size_t before = turn.words.size();
    std::erase_if(turn.words, [&](const AlignedWord& word) { return word.start_s >= end_s; });
    if (turn.words.size() == before) continue;
    turn.text.clear();
    for (const AlignedWord& word : turn.words) {
      turn.text += (turn.text.empty() ? "" : " ") + word.text;
    }
  }
  return turns;
}

void add_turns(const std::vector<Spoken>& turns, double audio_s, const std::string& language,
               const std::string& place, Cut& cut) {
  for (const Spoken& turn : turns) {
    if (turn.start_s < 0 || turn.start_s >= audio_s || turn.end_s > audio_s + kLengthTolerance_s) {
      throw convert_errors::time(place, turn.start_s, turn.end_s, audio_s);
    }
    cut.supervisions.push_back(supervision(turn, audio_s, cut));
    if (!language.empty()) cut.supervisions.back().language = language;
  }
}

}  // namespace s2s::convert
