// Takes parts of cuts. For many parts of one cut, its turns are looked up once.

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cuts/cut_numbers.h"
#include "cuts/cut_operations.h"
#include "cuts/cuts_errors.h"
#include "cuts/mixed_cut.h"
#include "s2s/data/frames.h"

namespace s2s::data {
namespace {

/// Turns by the id of a cut or of a track's cut. If two tracks have the same id, the last one
/// counts.
using TurnsById = std::map<std::string, std::vector<Supervision>>;

/// Turns without a duration are left out. Source: lhotse Cut.index_supervisions.
TurnsById index_turns(const Cut& cut);

/// With an index, a turn is taken if more than a hundredth of the shorter of turn and part
/// overlaps.
/// Source: lhotse truncate with _supervisions_index.
Cut truncate(const Cut& cut, const TruncateOptions& options, const TurnsById* index);

struct Span {
  double start_s = 0;
  double end_s = 0;
};

bool overlaps(const Span& a, const Span& b) {
  return a.start_s < b.end_s && b.start_s < a.end_s && !is_close(a.start_s, b.end_s) &&
         !is_close(b.start_s, a.end_s);
}

bool covers(const Span& outer, const Span& inner) {
  constexpr double kTolerance = 1e-3;
  return outer.start_s - kTolerance <= inner.start_s && inner.start_s <= inner.end_s &&
         inner.end_s <= outer.end_s + kTolerance;
}

/// Returns the overlap as a share of the shorter span. Source: lhotse utils.py measure_overlap.
double overlapped_share(Span a, Span b) {
  if (b.start_s < a.start_s) std::swap(a, b);
  const double overlap_s = a.end_s - b.start_s;
  if (overlap_s <= 0) return 0;
  return overlap_s / std::min(a.end_s - a.start_s, b.end_s - b.start_s);
}

Supervision moved(Supervision turn, double offset_s) {
  turn.start_s = round_time(turn.start_s + offset_s);
  return turn;
}

std::vector<Supervision> turns_inside(const std::vector<Supervision>& turns, double offset_s,
                                      double duration_s, bool keep_excessive) {
  std::vector<Supervision> inside;
  const Span part{0, duration_s};
  for (const Supervision& turn : turns) {
    Supervision shifted = moved(turn, -offset_s);
    const Span span{shifted.start_s, shifted.end_s()};
    if (keep_excessive ? overlaps(part, span) : covers(part, span)) {
      inside.push_back(std::move(shifted));
    }
  }
  return inside;
}

std::vector<Supervision> indexed_turns_inside(const std::vector<Supervision>& turns,
                                              double offset_s, double duration_s,
                                              bool keep_excessive) {
  std::vector<Supervision> inside;
  const Span part{offset_s, offset_s + duration_s};
  for (const Supervision& turn : turns) {
    const Span span{turn.start_s, turn.end_s()};
    const bool found = keep_excessive
                           ? span.start_s < part.end_s && span.end_s > part.start_s
                           : span.start_s >= offset_s - 1e-3 && span.end_s <= part.end_s + 1e-3;
    if (found && overlapped_share(span, part) > 0.01) inside.push_back(moved(turn, -offset_s));
  }
  return inside;
}

std::string new_id(const Cut& cut, const TruncateOptions& options) {
  if (options.preserve_id) return cut.id;
  return derived_id(cut.id, "truncate", {options.offset_s, options.duration_s.value_or(-1)});
}

Cut truncate_data(const Cut& cut, const TruncateOptions& options, const TurnsById* index) {
  const int64_t rate = rate_for(cut, "truncate");
  const double offset_s = options.offset_s;
  const double start_s = std::max(add_durations({cut.start_s, offset_s}, rate), 0.0);
  const double until_s =
      add_durations({offset_s, options.duration_s.value_or(cut.duration_s)}, rate);
  double duration_s = add_durations({until_s, -offset_s}, rate);
  if (!(duration_s > 0)) throw cuts_errors::operation(cut, "truncate", "nothing would be left");
  const double beyond_s = add_durations({start_s, duration_s, -cut.start_s, -cut.duration_s}, rate);
  if (beyond_s > 0) duration_s = add_durations({duration_s, -beyond_s}, rate);
  if (!(duration_s > 0)) throw cuts_errors::operation(cut, "truncate", "nothing would be left");
  Cut part = cut;
  const auto indexed = index == nullptr ? TurnsById::const_iterator() : index->find(cut.id);
  part.supervisions = index != nullptr && indexed != index->end()
                          ? indexed_turns_inside(indexed->second, offset_s, duration_s,
                                                 options.keep_excessive_supervisions)
                          : turns_inside(cut.supervisions, offset_s, duration_s,
                                         options.keep_excessive_supervisions);
  sort_by_start(part.supervisions);
  part.id = new_id(cut, options);
  part.start_s = start_s;
  part.duration_s = duration_s;
  return part;
}

Cut truncate_padding(const Cut& cut, const TruncateOptions& options) {
  Cut part = cut;
  part.duration_s = options.duration_s.value_or(cut.duration_s - options.offset_s);
  if (!(part.duration_s > 0)) {
    throw cuts_errors::operation(cut, "truncate", "nothing would be left");
  }
  part.id = new_id(cut, options);
  Cut::Padding& padding = *part.padding;
  const int64_t rate = padding.sample_rate_hz;
  if (padding.num_frames) {
    padding.num_frames = compute_num_frames(part.duration_s, padding.frame_shift.value_or(0), rate);
  }
  if (padding.num_samples) padding.num_samples = compute_num_samples(part.duration_s, rate);
  return part;
}

/// The part of a mix to keep.
struct MixPart {
  double offset_s = 0;
  double end_s = 0;
  double old_duration_s = 0;
  int64_t rate_hz = 0;
};

std::optional<MixTrack> truncate_track(const MixTrack& track, const MixPart& part,
                                       const TruncateOptions& options, const TurnsById* index) {
  const auto sum = [&](std::initializer_list<double> durations_s) {
    return add_durations(durations_s, part.rate_hz);
  };
  const double cut_offset_s = std::max(sum({part.offset_s, -track.offset_s}), 0.0);
  const double track_end_s = sum({track.offset_s, track.cut->duration_s});
  if (track_end_s < part.offset_s) return std::nullopt;
  double decrease_s = 0;
  if (track_end_s > part.end_s) {
    decrease_s = sum({track_end_s, options.duration_s ? -part.end_s : -part.old_duration_s});
  }
  const double duration_s = sum({track.cut->duration_s, -cut_offset_s, -decrease_s});
  if (duration_s <= 0) return std::nullopt;
  TruncateOptions of_cut = options;
  of_cut.offset_s = cut_offset_s;
  of_cut.duration_s = duration_s;
  MixTrack result = track;
  result.cut = std::make_shared<const Cut>(truncate(*track.cut, of_cut, index));
  result.offset_s = std::max(sum({track.offset_s, -part.offset_s}), 0.0);
  return result;
}

bool is_padding(const MixTrack& track) { return track.cut->kind == Cut::Kind::kPadding; }

/// Marks a new reference track if the old one was cut away.
void ensure_reference(std::vector<MixTrack>& tracks) {
  const bool has = std::any_of(tracks.begin(), tracks.end(), [](const MixTrack& track) {
    return track.is_snr_reference || (!track.snr_db && !is_padding(track));
  });
  if (has) return;
  const auto first = std::find_if_not(tracks.begin(), tracks.end(), is_padding);
  first->snr_db.reset();
  first->is_snr_reference = true;
}

Cut silence(const Cut& mix, const TruncateOptions& options) {
  if (!options.duration_s) {
    throw cuts_errors::operation(mix, "truncate", "nothing would be left");
  }
  Cut cut;
  cut.kind = Cut::Kind::kPadding;
  cut.id = new_id(mix, options);
  cut.manifest = mix.manifest;
  cut.line = mix.line;
  cut.duration_s = *options.duration_s;
  cut.padding.emplace();
  cut.padding->sample_rate_hz = mix.sample_rate_hz();
  cut.padding->num_samples = compute_num_samples(cut.duration_s, mix.sample_rate_hz());
  return cut;
}

Cut truncate_mix(const Cut& cut, const TruncateOptions& options, const TurnsById* index) {
  MixPart part{options.offset_s, 0, cut.duration_s, rate_for(cut, "truncate")};
  part.end_s = options.duration_s
                   ? add_durations({options.offset_s, *options.duration_s}, part.rate_hz)
                   : add_durations({cut.duration_s, -options.offset_s}, part.rate_hz);
  std::vector<MixTrack> sorted = cut.tracks;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const MixTrack& a, const MixTrack& b) { return a.offset_s < b.offset_s; });
  std::vector<MixTrack> tracks;
  for (const MixTrack& track : sorted) {
    std::optional<MixTrack> kept = truncate_track(track, part, options, index);
    if (kept) tracks.push_back(std::move(*kept));
  }
  if (std::all_of(tracks.begin(), tracks.end(), is_padding)) return silence(cut, options);
  if (tracks.size() == 1) return *tracks.front().cut;
  ensure_reference(tracks);
  Cut result = cut;
  result.id = new_id(cut, options);
  result.tracks = std::move(tracks);
  result.transforms.clear();
  update_mixed(result);
  return result;
}

TurnsById index_turns(const Cut& cut) {
  TurnsById index;
  const auto add = [&index](const Cut& from) {
    std::vector<Supervision>& turns = index[from.id];
    turns.clear();
    for (const Supervision& turn : from.supervisions) {
      if (turn.duration_s > 0) turns.push_back(turn);
    }
  };
  add(cut);
  for (const MixTrack& track : cut.tracks) add(*track.cut);
  return index;
}

Cut truncate(const Cut& cut, const TruncateOptions& options, const TurnsById* index) {
  if (cut.kind == Cut::Kind::kPadding) return truncate_padding(cut, options);
  if (options.offset_s < 0) throw cuts_errors::operation(cut, "truncate", "the offset is negative");
  return cut.kind == Cut::Kind::kMixed ? truncate_mix(cut, options, index)
                                       : truncate_data(cut, options, index);
}

}  // namespace
}  // namespace s2s::data

namespace s2s {
namespace {

int64_t num_windows(double length_s, double window_s, double hop_s) {
  if (!(length_s > 0)) return 0;
  const double whole = std::ceil(std::max(length_s - window_s, 0.0) / hop_s);
  return static_cast<int64_t>(whole) + (length_s - whole * hop_s > 0 ? 1 : 0);
}

}  // namespace

Cut truncate(const Cut& cut, const TruncateOptions& options) {
  return data::truncate(cut, options, nullptr);
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
    cuts.push_back(data::truncate(cut, part, &index));
    cuts.back().id = cut.id + "-" + std::to_string(i);
  }
  return cuts;
}

}  // namespace s2s
