// Many cuts of one.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <utility>

#include "cuts/cut_numbers.h"
#include "cuts/cut_truncate.h"
#include "cuts/cuts_errors.h"
#include "s2s/error.h"

namespace s2s {
namespace {

using Kind = Cut::Kind;

double round_to_15(double value) {
  char text[400];
  std::snprintf(text, sizeof text, "%.15f", value);
  return std::strtod(text, nullptr);
}

/// Source: lhotse utils.py compute_start_duration_for_extended_cut.
TruncateOptions part_of(const Supervision& turn, const TrimOptions& options) {
  TruncateOptions part;
  part.offset_s = turn.start_s;
  part.duration_s = turn.duration_s;
  part.keep_excessive_supervisions = options.keep_overlapping;
  if (!options.min_duration_s || *options.min_duration_s <= turn.duration_s) return part;
  double duration_s = *options.min_duration_s;
  const double more_s = duration_s - turn.duration_s;
  double start_s = turn.start_s;
  if (options.context == Context::kCenter) start_s -= more_s / 2;
  if (options.context == Context::kLeft) start_s -= more_s;
  if (start_s < 0) {
    duration_s = round_to_15(duration_s + start_s);
    start_s = 0;
  }
  part.offset_s = round_to_15(start_s);
  part.duration_s = duration_s;
  return part;
}

/// The cut takes the channels of its turns.
void take_channels(Cut& cut) {
  for (const Supervision& turn : cut.supervisions) {
    const Supervision& first = cut.supervisions.front();
    if (turn.channels == first.channels && turn.channel_is_list == first.channel_is_list) continue;
    throw cuts_errors::operation(cut, "trim_to_supervisions",
                                 "turns on different channels overlap; keep all channels, or do "
                                 "not keep overlapping turns");
  }
  if (cut.supervisions.empty()) {
    throw cuts_errors::operation(cut, "trim_to_supervisions", "a part has no turn");
  }
  cut.channels = cut.supervisions.front().channels;
  if (cut.kind == Kind::kMulti && cut.channels.size() == 1) cut = to_mono(cut).front();
}

int64_t num_windows(double length_s, double window_s, double hop_s) {
  if (!(length_s > 0)) return 0;
  const double whole = std::ceil(std::max(length_s - window_s, 0.0) / hop_s);
  return static_cast<int64_t>(whole) + (length_s - whole * hop_s > 0 ? 1 : 0);
}

}  // namespace

std::vector<Cut> trim_to_supervisions(const Cut& cut, const TrimOptions& options) {
  const data::TurnsById index = data::index_turns(cut);
  std::vector<Cut> cuts;
  for (const Supervision& turn : cut.supervisions) {
    Cut part = data::truncate(cut, part_of(turn, options), &index);
    if (!options.keep_overlapping) {
      part = filter_supervisions(part, [&](const Supervision& s) { return s.id == turn.id; });
    }
    if (!options.keep_all_channels && part.kind != Kind::kMixed) take_channels(part);
    if (part.supervisions.size() == 1) part.id = turn.id;
    cuts.push_back(std::move(part));
  }
  return cuts;
}

std::vector<Cut> cut_into_windows(const Cut& cut, double duration_s, double hop_s,
                                  bool keep_excessive_supervisions) {
  if (!(duration_s > 0) || hop_s < 0) {
    throw cuts_errors::operation(cut, "cut_into_windows", "the duration is not positive");
  }
  if (hop_s == 0) hop_s = duration_s;
  const data::TurnsById index = data::index_turns(cut);
  std::vector<Cut> cuts;
  const int64_t count = num_windows(cut.duration_s, duration_s, hop_s);
  for (int64_t i = 0; i < count; ++i) {
    TruncateOptions part;
    part.offset_s = hop_s * static_cast<double>(i);
    part.duration_s = duration_s;
    part.keep_excessive_supervisions = keep_excessive_supervisions;
    cuts.push_back(with_id(data::truncate(cut, part, &index), cut.id + "-" + std::to_string(i)));
  }
  return cuts;
}

std::vector<Cut> to_mono(const Cut& cut) {
  if (cut.kind == Kind::kMono) return {cut};
  if (cut.kind != Kind::kMulti) {
    throw cuts_errors::operation(cut, "to_mono", "it is not a multi-channel cut");
  }
  std::vector<Cut> cuts;
  for (const int64_t channel : cut.channels) {
    Cut mono = cut;
    mono.kind = Kind::kMono;
    mono.id += "-" + std::to_string(channel);
    mono.channels = {channel};
    mono.features.reset();
    std::erase_if(mono.supervisions, [&](const Supervision& turn) {
      return std::count(turn.channels.begin(), turn.channels.end(), channel) == 0;
    });
    for (Supervision& turn : mono.supervisions) {
      turn.channels = {channel};
      turn.channel_is_list = false;
    }
    cuts.push_back(std::move(mono));
  }
  return cuts;
}

std::vector<std::pair<int64_t, int64_t>> split_ranges(int64_t num_cuts, int64_t num_splits,
                                                      bool drop_last) {
  S2S_ASSERT(num_splits >= 1 && num_splits <= num_cuts, "there is a cut for each part");
  const int64_t size = num_cuts / num_splits;
  const int64_t longer = drop_last ? 0 : num_cuts % num_splits;
  std::vector<std::pair<int64_t, int64_t>> ranges;
  for (int64_t i = 0, begin = 0; i < num_splits; ++i) {
    const int64_t end = begin + size + (i < longer ? 1 : 0);
    ranges.emplace_back(begin, end);
    begin = end;
  }
  return ranges;
}

}  // namespace s2s
