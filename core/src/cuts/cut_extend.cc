// More of a cut's recording.

#include <algorithm>
#include <utility>

#include "cuts/cut_numbers.h"
#include "cuts/cuts_errors.h"
#include "files/json_fields.h"
#include "s2s/cut_operations.h"
#include "s2s/frames.h"

namespace s2s {
namespace {

using data::JsonFields;
using data::LinePlace;

/// The time that a stored array has values for.
struct ArraySpan {
  double frame_shift_s = 0;
  double start_s = 0;
  int64_t num_frames = 0;
};

ArraySpan features_span(const Cut& cut) {
  const LinePlace place{cut.manifest, cut.line, "features"};
  const JsonFields fields(data::parse_json_line(cut.features->manifest.text, place), place);
  return {fields.number("frame_shift"), fields.number("start"), fields.integer("num_frames")};
}

/// Nothing: the array has no time.
std::optional<ArraySpan> array_span(const Cut& cut, const StoredArray& array) {
  const LinePlace place{cut.manifest, cut.line, "custom"};
  const JsonFields fields(data::parse_json_line(array.manifest.text, place), place);
  const auto inner = fields.find("array");
  if (!inner || !fields.find("temporal_dim")) return std::nullopt;
  const std::vector<int64_t> shape = JsonFields(*inner, fields, "array").integers("shape");
  const int64_t dim = fields.integer("temporal_dim");
  const int64_t index = dim < 0 ? dim + static_cast<int64_t>(shape.size()) : dim;
  if (index < 0 || index >= static_cast<int64_t>(shape.size())) return std::nullopt;
  return ArraySpan{fields.number("frame_shift"), fields.number("start"),
                   shape[static_cast<size_t>(index)]};
}

/// In frames, with one of tolerance on either side.
bool is_beyond(const ArraySpan& span, double start_s, double end_s, int64_t rate_hz) {
  const auto frame = [&](double time_s) {
    return compute_num_frames(time_s, span.frame_shift_s, rate_hz);
  };
  const int64_t first = frame(span.start_s);
  return frame(start_s) < first - 1 || frame(end_s) > first + span.num_frames + 1;
}

/// Stored arrays that do not reach as far as the cut now does are detached.
void detach_short_arrays(Cut& cut, double end_s, int64_t rate_hz) {
  if (cut.features && is_beyond(features_span(cut), cut.start_s, end_s, rate_hz)) {
    cut.features.reset();
  }
  for (auto& [name, value] : cut.custom) {
    const auto* array = std::get_if<StoredArray>(&value);
    const std::optional<ArraySpan> span = array ? array_span(cut, *array) : std::nullopt;
    if (span && is_beyond(*span, cut.start_s, end_s, rate_hz)) value = JsonText{"null"};
  }
}

Cut extend_padding(const Cut& cut, const ExtendOptions& options) {
  TruncateOptions longer;
  longer.duration_s = cut.duration_s + options.duration_s;
  if (options.direction == Direction::kBoth) *longer.duration_s += options.duration_s;
  longer.preserve_id = options.preserve_id;
  return truncate(cut, longer);
}

Cut padded(const Cut& cut, double more_s, Direction direction, bool preserve_id) {
  PadOptions options;
  options.duration_s = cut.duration_s + more_s;
  options.direction = direction;
  options.preserve_id = preserve_id;
  return pad(cut, options);
}

}  // namespace

Cut extend_by(const Cut& cut, const ExtendOptions& options) {
  if (options.duration_s < 0) {
    throw cuts_errors::operation(cut, "extend_by", "the duration is negative");
  }
  if (cut.kind == Cut::Kind::kPadding) return extend_padding(cut, options);
  if (!cut.recording) {
    throw cuts_errors::operation(cut, "extend_by", "it is a mixed cut or has no recording");
  }
  const int64_t rate = data::rate_for(cut, "extend_by");
  const double end_s = data::end_s(cut);
  const double available_s = cut.recording->duration_s;
  double new_start_s = cut.start_s;
  double new_end_s = end_s;
  double pad_left_s = 0;
  double pad_right_s = 0;
  if (options.direction != Direction::kRight) {
    if (cut.start_s - options.duration_s < 0 && options.pad_silence) {
      pad_left_s = options.duration_s - cut.start_s;
    }
    new_start_s = std::max(cut.start_s - options.duration_s, 0.0);
  }
  if (options.direction != Direction::kLeft) {
    if (end_s + options.duration_s > available_s && options.pad_silence) {
      pad_right_s = options.duration_s - (available_s - end_s);
    }
    new_end_s = std::min(end_s + options.duration_s, available_s);
  }
  Cut longer = cut;
  if (!options.preserve_id) {
    longer.id = data::derived_id(cut.id, "extend_by", {options.duration_s});
  }
  const double shift_s = data::add_durations({cut.start_s, -new_start_s}, rate);
  for (Supervision& turn : longer.supervisions) turn.start_s = round_time(turn.start_s + shift_s);
  std::stable_sort(longer.supervisions.begin(), longer.supervisions.end(),
                   [](const auto& a, const auto& b) { return a.start_s < b.start_s; });
  longer.start_s = new_start_s;
  longer.duration_s = data::add_durations({new_end_s, -new_start_s}, rate);
  detach_short_arrays(longer, new_end_s, rate);
  if (pad_left_s > 0) longer = padded(longer, pad_left_s, Direction::kLeft, options.preserve_id);
  if (pad_right_s > 0) longer = padded(longer, pad_right_s, Direction::kRight, options.preserve_id);
  return longer;
}

}  // namespace s2s
