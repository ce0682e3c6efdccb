#include <fmt/format.h>

#include <algorithm>

#include "duplex/inspect.h"

namespace s2s::data {
namespace {

constexpr size_t kColumn = 24;

/// Shows U+2581, which marks the begin of a word, as an underscore.
std::string shown(int64_t id, const Tokenizer& tokenizer) {
  if (id == tokenizer.special_ids().pad) return ".";
  if (id == tokenizer.special_ids().bos) return "<BOS>";
  if (id == tokenizer.special_ids().eos) return "<EOS>";
  std::string piece = tokenizer.piece(id);
  for (size_t at = piece.find("\xe2\x96\x81"); at != std::string::npos;
       at = piece.find("\xe2\x96\x81")) {
    piece.replace(at, 3, "_");
  }
  return piece;
}

/// Returns who speaks during a frame: "u", "a", "ua" or "".
std::string speaking(const std::vector<Turn>& turns, double start_s, double end_s) {
  bool user = false;
  bool agent = false;
  for (const Turn& turn : turns) {
    if (turn.start_s >= end_s || turn.end_s <= start_s) continue;
    (turn.is_agent ? agent : user) = true;
  }
  return std::string(user ? "u" : "") + (agent ? "a" : "");
}

std::string draw(const CutSequence& row, const BatchSpec& spec, const Tokenizer& tokenizer) {
  const SequenceText text = make_sequence_text(row, spec, tokenizer);
  const int64_t pad = tokenizer.special_ids().pad;
  const double frame_s = spec.data.frame_length;
  const size_t num_frames = text.target_tokens.size();
  std::string drawn = fmt::format("{}: {} frames, {:.2f} s\n  {:>7} {:>5}  {:<4}{:<{}}{}\n",
                                  row.id(), num_frames, static_cast<double>(num_frames) * frame_s,
                                  "time", "frame", "who", "user", kColumn, "agent");
  bool skipping = false;
  for (size_t t = 0; t < num_frames; ++t) {
    if (text.target_tokens[t] == pad && text.source_tokens[t] == pad) {
      if (!skipping) drawn += "      ...\n";
      skipping = true;
      continue;
    }
    skipping = false;
    const double start_s = static_cast<double>(t) * frame_s;
    drawn += fmt::format("  {:>7.2f} {:>5}  {:<4}{:<{}}{}\n", start_s, t,
                         speaking(text.turns, start_s, start_s + frame_s),
                         shown(text.source_tokens[t], tokenizer), kColumn,
                         shown(text.target_tokens[t], tokenizer));
  }
  return drawn;
}

}  // namespace

std::string draw_channels(const std::vector<CutSequence>& rows, const BatchSpec& spec,
                          const Tokenizer& tokenizer) {
  std::string drawn;
  for (const CutSequence& row : rows)
    drawn += (drawn.empty() ? "" : "\n") + draw(row, spec, tokenizer);
  return drawn;
}

}  // namespace s2s::data
