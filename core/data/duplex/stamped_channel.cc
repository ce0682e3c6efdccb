// Places text on the frame grid as NeMo's speech-to-text data set does: turns are clipped, and
// words are at their time marks.

#include <algorithm>
#include <sstream>
#include <utility>

#include "base/text.h"
#include "duplex/time_marks.h"
#include "s2s/data/duplex_data.h"
#include "s2s/data/frames.h"

namespace s2s {
namespace data {

size_t time_mark_bytes(const std::string& text, size_t i) {
  if (text.compare(i, 2, "<|") != 0) return 0;
  size_t end = i + 2;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  return end > i + 2 && text.compare(end, 2, "|>") == 0 ? end + 2 - i : 0;
}

MarkedText read_time_marks(const std::string& text) {
  MarkedText found;
  for (size_t i = 0; i < text.size(); ++i) {
    if (const size_t bytes = time_mark_bytes(text, i); bytes > 0) {
      found.marks.push_back(std::strtoll(text.c_str() + i + 2, nullptr, 10));
      i += bytes - 1;
    }
  }
  std::istringstream words(clean_text(text));
  for (std::string word; words >> word;) found.words.push_back(word);
  return found;
}

}  // namespace data

namespace {

/// As NeMo, scales a mark to frames of 80 ms, with the same rounding.
int64_t frame_of_mark(int64_t mark) {
  return static_cast<int64_t>(static_cast<double>(mark) * 0.08 / 0.08);
}

/// Places the ids of the words between their marks, in a turn of `num_frames`.
std::vector<int64_t> place_words(const data::MarkedText& text, const StampedWords& words,
                                 const Tokenizer& tokenizer, int64_t num_frames) {
  std::vector<int64_t> placed(static_cast<size_t>(num_frames), tokenizer.special_ids().pad);
  for (size_t w = 0; w < text.words.size(); ++w) {
    const bool spaced = w > 0 && words.prepends_space;
    const std::vector<int64_t> ids = tokenizer.encode((spaced ? " " : "") + text.words[w]);
    const auto count = static_cast<int64_t>(ids.size());
    int64_t begin = frame_of_mark(text.marks[2 * w]);
    int64_t end = frame_of_mark(text.marks[2 * w + 1]);
    if (words.at_end) {
      begin = std::max(begin, end - count);
    } else {
      end = std::min(begin + count, end);
    }
    for (int64_t t = begin; t <= end && t < num_frames && t - begin < count; ++t) {
      placed[static_cast<size_t>(t)] = ids[static_cast<size_t>(t - begin)];
    }
  }
  return placed;
}

/// Returns BOS and the ids of a turn before clipping.
std::vector<int64_t> marked_ids(const Supervision& turn, const StampedWords& words,
                                const Tokenizer& tokenizer, int64_t num_frames) {
  std::vector<int64_t> ids{tokenizer.special_ids().bos};
  const std::string text = turn.text.value_or("");
  const data::MarkedText marked = data::read_time_marks(text);
  const std::vector<int64_t> spoken = marked.is_complete()
                                          ? place_words(marked, words, tokenizer, num_frames)
                                          : tokenizer.encode(clean_text(text));
  ids.insert(ids.end(), spoken.begin(), spoken.end());
  return ids;
}

void write_clipped_turn(const Supervision& turn, const FrameGrid& grid, const StampedWords& words,
                        const Tokenizer& tokenizer, std::vector<int64_t>& channel,
                        TokenChannelCounts& counts) {
  const auto frame_at = [&grid](double time_s) {
    return compute_num_frames(time_s, grid.frame_length_s, grid.sample_rate_hz);
  };
  const auto size = static_cast<int64_t>(channel.size());
  const int64_t begin = frame_at(turn.start_s), end = frame_at(turn.end_s());
  ++counts.turns;
  if (begin >= size) {
    ++counts.skipped_turns;
    return;
  }
  const int64_t room = std::max<int64_t>(end - begin, 0);
  const std::vector<int64_t> ids = marked_ids(turn, words, tokenizer, room);
  const auto count = static_cast<int64_t>(ids.size());
  if (count > room) ++counts.long_turns;
  counts.dropped_tokens += std::max<int64_t>(count - room, 0);
  for (int64_t i = 0; i < std::min(count, room); ++i) {
    const int64_t frame = begin + i;
    if (frame < 0 || frame >= size) {
      ++counts.truncated_tokens;
    } else {
      channel[static_cast<size_t>(frame)] = ids[static_cast<size_t>(i)];
    }
  }
  if (end >= size) {
    ++counts.open_turns;
  } else if (end >= 0) {
    channel[static_cast<size_t>(end)] = tokenizer.special_ids().eos;
  }
}

}  // namespace

std::vector<int64_t> build_stamped_channel(const std::vector<Supervision>& supervisions,
                                           const std::vector<std::string>& roles,
                                           const FrameGrid& grid, const StampedWords& words,
                                           const Tokenizer& tokenizer, TokenChannelCounts* counts) {
  TokenChannelCounts local;
  const int64_t num_frames =
      compute_num_frames(grid.duration_s, grid.frame_length_s, grid.sample_rate_hz);
  std::vector<int64_t> channel(static_cast<size_t>(num_frames), tokenizer.special_ids().pad);
  for (const Supervision& turn : supervisions) {
    if (contains(roles, turn.speaker))
      write_clipped_turn(turn, grid, words, tokenizer, channel, local);
  }
  if (counts != nullptr) *counts += local;
  return channel;
}

}  // namespace s2s
