#include "segments.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>

namespace s2s::whisper {
namespace {

/// The median over `width` frames around each one; the ends are mirrored. [A, U, T].
at::Tensor median_over_frames(const at::Tensor& x_AUT, int64_t width) {
  const int64_t reach = width / 2;
  if (x_AUT.size(2) <= reach) return x_AUT;
  const at::Tensor padded = at::reflection_pad1d(x_AUT, {reach, reach});
  return std::get<0>(padded.unfold(2, width, 1).sort(-1)).select(-1, reach);
}

/// The frame at which each of U ids begins on the cheapest path through costs [U, T].
/// Source: transformers generation_whisper._dynamic_time_warping.
std::vector<int64_t> first_frames(const at::Tensor& cost_UT) {
  const int64_t ids = cost_UT.size(0), frames = cost_UT.size(1), columns = frames + 1;
  const at::Tensor costs = cost_UT.to(at::kCPU, at::kDouble).contiguous();
  const double* const cost = costs.data_ptr<double>();
  const auto at_place = [&](int64_t i, int64_t j) { return static_cast<size_t>(i * columns + j); };
  const size_t size = at_place(ids, frames) + 1;
  std::vector<float> sum(size, std::numeric_limits<float>::infinity());
  enum class Step : unsigned char { kBoth, kId, kFrame };
  std::vector<Step> steps(size, Step::kFrame);
  for (int64_t i = 1; i <= ids; ++i) steps[at_place(i, 0)] = Step::kId;
  sum[0] = 0;
  for (int64_t j = 1; j <= frames; ++j) {
    for (int64_t i = 1; i <= ids; ++i) {
      const float both = sum[at_place(i - 1, j - 1)], id = sum[at_place(i - 1, j)];
      const float frame = sum[at_place(i, j - 1)];
      const Step step = both < id && both < frame ? Step::kBoth
                        : id < both && id < frame ? Step::kId
                                                  : Step::kFrame;
      const float before = step == Step::kBoth ? both : step == Step::kId ? id : frame;
      sum[at_place(i, j)] =
          static_cast<float>(cost[(i - 1) * frames + (j - 1)] + static_cast<double>(before));
      steps[at_place(i, j)] = step;
    }
  }
  std::vector<int64_t> first(static_cast<size_t>(ids), 0);
  for (int64_t i = ids, j = frames; i > 0 || j > 0;) {
    if (i > 0) first[static_cast<size_t>(i - 1)] = std::max<int64_t>(j - 1, 0);
    const Step step = i == 0 ? Step::kFrame : steps[at_place(i, j)];
    if (step != Step::kFrame) --i;
    if (step != Step::kId) --j;
  }
  return first;
}

}  // namespace

WindowSegments window_segments(const std::vector<int64_t>& ids, const GenerationConfig& config,
                               const WindowSpan& span) {
  const double offset_s = static_cast<double>(span.begin) * span.frame_s / 2;
  const auto position = [&](size_t i) { return ids[i] - config.first_timestamp(); };
  const auto is_time = [&](size_t i) { return config.is_timestamp(ids[i]); };
  const auto time_of = [&](int64_t p) { return offset_s + static_cast<double>(p) * span.frame_s; };
  std::vector<size_t> ends;
  for (size_t i = 0; i + 1 < ids.size(); ++i) {
    if (is_time(i) && is_time(i + 1)) ends.push_back(i + 1);
  }
  WindowSegments found;
  found.advance = span.length;
  const size_t size = ids.size();
  if (ends.empty()) {
    int64_t last = span.length / 2;
    for (size_t i = size; i-- > 0;) {
      if (!is_time(i)) continue;
      if (position(i) != 0) last = position(i);
      break;
    }
    found.segments.push_back({offset_s, time_of(last), 0, size});
    return found;
  }
  const bool ends_single = size >= 2 && is_time(size - 1) && !is_time(size - 2);
  if (ends_single) {
    ends.push_back(size);
  } else {
    ++ends.back();  // with the timestamp that begins the next segment
  }
  size_t begin = 0;
  for (const size_t end : ends) {
    const bool has_next_begin = end == ends.back() && !ends_single;
    const size_t last = end - (has_next_begin ? 2 : 1);
    found.segments.push_back({time_of(position(begin)), time_of(position(last)), begin, end});
    begin = end;
  }
  if (!ends_single) found.advance = 2 * position(begin - 2);
  return found;
}

std::vector<double> id_times(const at::Tensor& weights_AUT, size_t count, int64_t mel_frames,
                             int64_t filter_width, double frame_s) {
  std::vector<double> times(count, 0);
  // A window after the end of a clip that is padded has a negative number of frames; transformers
  // cuts so many off at the end, twice.
  const int64_t end = mel_frames >= 0 ? mel_frames / 2 : 2 * ((mel_frames - 1) / 2);
  if (!weights_AUT.defined() || weights_AUT.size(1) == 0) return times;
  at::Tensor x_AUT = weights_AUT.slice(2, 0, end);
  if (x_AUT.size(2) == 0) return times;
  const at::Tensor mean = x_AUT.mean(1, /*keepdim=*/true);
  x_AUT = (x_AUT - mean) / x_AUT.std(1, /*unbiased=*/false, /*keepdim=*/true);
  const at::Tensor cost_UT = -median_over_frames(x_AUT, filter_width).mean(0);
  const std::vector<int64_t> first = first_frames(cost_UT);
  for (size_t i = 0; i < count; ++i) {
    const int64_t frame = first[std::min(i, first.size() - 1)];
    times[i] = static_cast<double>(frame) * frame_s;
  }
  return times;
}

}  // namespace s2s::whisper
