#include "audio/stream_resampler.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>

#include "audio/sinc_kernel.h"

namespace s2s {
namespace {

/// The resampler computes frames of at most this many periods. If inputs begin at the begin of such
/// a frame, their sums are computed in the same order as for the whole recording.
constexpr int64_t kPeriods = 64;

}  // namespace

StreamResampler::StreamResampler(int64_t from_hz, int64_t to_hz)
    : resampler_(from_hz, to_hz),
      from_(from_hz / std::gcd(from_hz, to_hz)),
      to_(to_hz / std::gcd(from_hz, to_hz)),
      kept_S_(at::empty({0}, at::kFloat)) {
  if (from_ != to_) width_ = data::sinc_kernel(from_hz, to_hz, /*is_double=*/false).width;
}

/// Returns the outputs up to `end` that the kept inputs give.
at::Tensor StreamResampler::take(int64_t end) {
  if (end <= num_given_) return at::empty({0}, at::kFloat);
  const int64_t first = begin_ / from_ * to_;  // first output of the kept inputs
  const at::Tensor all_S = resampler_(kept_S_);
  const int64_t begin = num_given_ - first;
  const at::Tensor taken_S = all_S.slice(0, begin, end - first).clone();
  num_given_ += taken_S.size(0);
  const int64_t frame = from_ * kPeriods;
  const int64_t needed = std::max<int64_t>(0, num_given_ / to_ * from_ - width_ - from_);
  const int64_t drop = needed / frame * frame - begin_;
  if (drop > 0) {
    kept_S_ = kept_S_.slice(0, drop).clone();
    begin_ += drop;
  }
  return taken_S;
}

at::Tensor StreamResampler::add(const at::Tensor& samples_S) {
  if (from_ == to_) return samples_S;
  kept_S_ = at::cat({kept_S_, samples_S});
  const int64_t num_there = begin_ + kept_S_.size(0);
  const int64_t num_periods = (num_there - width_ - from_) / from_;
  return take(std::max<int64_t>(0, num_periods) * to_);
}

at::Tensor StreamResampler::finish() {
  if (from_ == to_ || kept_S_.size(0) == 0) return at::empty({0}, at::kFloat);
  return take(begin_ / from_ * to_ + resampler_(kept_S_).size(0));
}

}  // namespace s2s
