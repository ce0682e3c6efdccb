// Places text on the frame grid.

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "duplex/time_marks.h"
#include "s2s/data/duplex_data.h"
#include "s2s/data/frames.h"

namespace s2s {
namespace {

/// A channel that remembers which of its frames were written.
class ChannelWriter {
 public:
  ChannelWriter(int64_t num_frames, int64_t pad)
      : tokens_(static_cast<size_t>(num_frames), pad), written_(tokens_.size(), false) {}

  int64_t size() const { return static_cast<int64_t>(tokens_.size()); }

  void write(int64_t frame, int64_t token, TokenChannelCounts& counts) {
    if (frame < 0 || frame >= size()) {
      ++counts.truncated_tokens;
      return;
    }
    const auto i = static_cast<size_t>(frame);
    counts.overwritten_tokens += written_[i] ? 1 : 0;
    tokens_[i] = token;
    written_[i] = true;
  }

  std::vector<int64_t> take() { return std::move(tokens_); }

 private:
  std::vector<int64_t> tokens_;
  std::vector<bool> written_;
};

bool has_role(const Supervision& turn, const std::vector<std::string>& roles) {
  return std::find(roles.begin(), roles.end(), turn.speaker) != roles.end();
}

int64_t frame_at(double time_s, const FrameGrid& grid) {
  return compute_num_frames(time_s, grid.frame_length_s, grid.sample_rate_hz);
}

/// With `lead_frames`, words with times are written that many frames before they are spoken.
void write_turn(const Supervision& turn, const FrameGrid& grid, const Tokenizer& tokenizer,
                std::optional<int64_t> lead_frames, LongText long_text, ChannelWriter& channel,
                TokenChannelCounts& counts) {
  ++counts.turns;
  int64_t frame = frame_at(turn.start_s, grid);
  if (frame > channel.size()) {
    ++counts.skipped_turns;
    return;
  }
  const int64_t end = frame_at(turn.end_s(), grid);
  channel.write(frame++, tokenizer.special_ids().bos, counts);
  const auto write_text = [&](const std::string& text) {
    for (const int64_t id : tokenizer.encode(clean_text(text))) {
      if (frame >= end && long_text == LongText::kDrop) {
        ++counts.dropped_tokens;
      } else {
        channel.write(frame, id, counts);
      }
      ++frame;
    }
  };
  if (lead_frames && !turn.words().empty()) {
    for (const AlignedWord& word : turn.words()) {
      frame = std::max(frame, frame_at(word.start_s, grid) - *lead_frames);
      write_text(word.text);
    }
  } else {
    write_text(turn.text.value_or(""));
  }
  if (frame > end) ++counts.long_turns;
  if (end < channel.size()) {
    channel.write(end, tokenizer.special_ids().eos, counts);
  } else {
    ++counts.open_turns;
  }
}

/// Length of a white space character at `text[i]` in UTF-8, or 0 for another character. White space
/// is what Python's str.isspace accepts.
size_t space_bytes(const std::string& text, size_t i) {
  const auto byte = [&](size_t k) -> unsigned {
    return i + k < text.size() ? static_cast<unsigned char>(text[i + k]) : 0u;
  };
  const unsigned first = byte(0);
  if (first == ' ' || (first >= 0x09 && first <= 0x0d) || (first >= 0x1c && first <= 0x1f))
    return 1;
  if (first == 0xc2) return byte(1) == 0x85 || byte(1) == 0xa0 ? 2 : 0;
  if (first < 0xe1 || first > 0xe3) return 0;
  const unsigned point = ((first & 0x0fu) << 12) | ((byte(1) & 0x3fu) << 6) | (byte(2) & 0x3fu);
  const bool space = point == 0x1680 || (point >= 0x2000 && point <= 0x200a) || point == 0x2028 ||
                     point == 0x2029 || point == 0x202f || point == 0x205f || point == 0x3000;
  return space ? 3 : 0;
}

}  // namespace

TokenChannelCounts& TokenChannelCounts::operator+=(const TokenChannelCounts& other) {
  turns += other.turns;
  long_turns += other.long_turns;
  overwritten_tokens += other.overwritten_tokens;
  truncated_tokens += other.truncated_tokens;
  dropped_tokens += other.dropped_tokens;
  skipped_turns += other.skipped_turns;
  open_turns += other.open_turns;
  return *this;
}

std::string clean_text(const std::string& text) {
  std::string result;
  bool space_before = false;
  for (size_t i = 0; i < text.size();) {
    if (const size_t mark = data::time_mark_bytes(text, i); mark > 0) {
      i += mark;
    } else if (const size_t space = space_bytes(text, i); space > 0) {
      space_before = true;
      i += space;
    } else {
      if (space_before && !result.empty()) result += ' ';
      space_before = false;
      result += text[i++];
    }
  }
  return result;
}

namespace {

std::vector<int64_t> build_channel(const std::vector<Supervision>& supervisions,
                                   const std::vector<std::string>& roles, const FrameGrid& grid,
                                   std::optional<int64_t> lead_frames, const Tokenizer& tokenizer,
                                   TokenChannelCounts* counts, LongText long_text) {
  TokenChannelCounts ignored;
  ChannelWriter channel(frame_at(grid.duration_s, grid), tokenizer.special_ids().pad);
  for (const Supervision& turn : supervisions) {
    if (!has_role(turn, roles)) continue;
    write_turn(turn, grid, tokenizer, lead_frames, long_text, channel,
               counts != nullptr ? *counts : ignored);
  }
  return channel.take();
}

}  // namespace

std::vector<int64_t> build_token_channel(const std::vector<Supervision>& supervisions,
                                         const std::vector<std::string>& roles,
                                         const FrameGrid& grid, const Tokenizer& tokenizer,
                                         TokenChannelCounts* counts, LongText long_text) {
  return build_channel(supervisions, roles, grid, {}, tokenizer, counts, long_text);
}

std::vector<int64_t> build_spoken_channel(const std::vector<Supervision>& supervisions,
                                          const std::vector<std::string>& roles,
                                          const FrameGrid& grid, int64_t lead_frames,
                                          const Tokenizer& tokenizer, TokenChannelCounts* counts,
                                          LongText long_text) {
  return build_channel(supervisions, roles, grid, lead_frames, tokenizer, counts, long_text);
}

std::vector<int64_t> build_monologue_channel(const std::vector<Supervision>& supervisions,
                                             const std::vector<std::string>& roles,
                                             const FrameGrid& grid,
                                             std::optional<int64_t> end_of_padding_id,
                                             const Tokenizer& tokenizer,
                                             TokenChannelCounts* counts) {
  TokenChannelCounts local;
  std::vector<const AlignedWord*> words;
  for (const Supervision& turn : supervisions) {
    if (!has_role(turn, roles)) continue;
    ++local.turns;
    for (const AlignedWord& word : turn.words()) {
      const bool is_inside = word.start_s >= 0;  // a window may begin within a turn
      if (is_inside && word.end_s() > word.start_s) words.push_back(&word);
    }
  }
  std::stable_sort(words.begin(), words.end(), [](const AlignedWord* a, const AlignedWord* b) {
    return a->start_s < b->start_s;
  });
  const int64_t pad = tokenizer.special_ids().pad;
  std::vector<int64_t> channel(static_cast<size_t>(frame_at(grid.duration_s, grid)), pad);
  const auto frame_of = [&](const AlignedWord& word) {
    return static_cast<int64_t>(word.start_s * (1 / grid.frame_length_s));
  };
  for (size_t i = 0; i < words.size(); ++i) {
    const std::vector<int64_t> ids = tokenizer.encode(clean_text(words[i]->text));
    const auto first = static_cast<size_t>(frame_of(*words[i]));
    const size_t next = i + 1 < words.size() ? static_cast<size_t>(frame_of(*words[i + 1]))
                                             : std::numeric_limits<size_t>::max();
    const size_t room = std::max(next, first) - first;
    const size_t end = std::min({first + ids.size(), first + room, channel.size()});
    for (size_t t = first; t < end; ++t) channel[t] = ids[t - first];
    const size_t written = end > first ? end - first : 0;
    const size_t left = ids.size() - written;
    (room < ids.size() ? local.dropped_tokens : local.truncated_tokens) +=
        static_cast<int64_t>(left);
    const bool follows_padding = written > 0 && first > 0 && channel[first - 1] == pad;
    if (end_of_padding_id && follows_padding) channel[first - 1] = *end_of_padding_id;
  }
  if (counts != nullptr) *counts += local;
  return channel;
}

std::vector<int64_t> build_word_channel(const std::vector<Supervision>& supervisions,
                                        const std::vector<std::string>& roles,
                                        const FrameGrid& grid, int64_t delay_frames,
                                        const Tokenizer& tokenizer, TokenChannelCounts* counts) {
  TokenChannelCounts local;
  ChannelWriter channel(frame_at(grid.duration_s, grid), tokenizer.special_ids().pad);
  for (const Supervision& turn : supervisions) {
    if (!has_role(turn, roles)) continue;
    ++local.turns;
    int64_t free_frame = 0;
    for (const AlignedWord& word : turn.words()) {
      int64_t frame = std::max(free_frame, frame_at(word.end_s(), grid) + delay_frames);
      for (const int64_t id : tokenizer.encode(clean_text(word.text))) {
        channel.write(frame++, id, local);
      }
      free_frame = frame;
    }
  }
  if (counts != nullptr) *counts += local;
  return channel.take();
}

}  // namespace s2s
