#include "praat_voice.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>
#include <utility>

namespace s2s::turn_taking {
namespace {

using std::numbers::pi;

constexpr double kPeriodsPerWindow = 3;
constexpr size_t kMaxCandidates = 15;
constexpr double kSilenceThreshold = 0.03;
constexpr double kVoicingThreshold = 0.45;
constexpr double kOctaveCost = 0.01;
constexpr double kOctaveJumpCost = 0.35;      // for steps of 10 ms
constexpr double kVoicedUnvoicedCost = 0.14;  // for steps of 10 ms

/// Where frames are: as many as fit, in the middle of the voice. Frames often begin exactly between
/// samples, so that the order of operations is Praat's.
class Frames {
 public:
  Frames(const VoiceSamples& voice, double window_s, double step_s)
      : period_s_(1 / voice.rate_hz), step_s_(step_s) {
    const double duration_s = period_s_ * static_cast<double>(voice.samples.size());
    if (duration_s < window_s) return;
    count_ = static_cast<int64_t>(std::floor((duration_s - window_s) / step_s)) + 1;
    const double middle_s = period_s_ / 2 - 0.5 * period_s_ + 0.5 * duration_s;
    first_s_ = middle_s - 0.5 * (static_cast<double>(count_) * step_s) + 0.5 * step_s;
  }
  int64_t count() const { return count_; }
  /// The middle of a frame in samples: 0 is the middle of the first sample.
  double middle(int64_t frame) const {
    return (first_s_ + static_cast<double>(frame) * step_s_ - period_s_ / 2) / period_s_;
  }

 private:
  double period_s_, step_s_;
  int64_t count_ = 0;
  double first_s_ = 0;
};

/// Values at -size() + 1 to size() - 1, symmetric around 0.
class Correlation {
 public:
  explicit Correlation(std::vector<double> values) : values_(std::move(values)) {}
  int64_t last() const { return static_cast<int64_t>(values_.size()) - 1; }
  double operator[](int64_t lag) const { return values_[static_cast<size_t>(std::abs(lag))]; }

  /// Between lags, from up to `depth` values on either side, by a sine cardinal under a raised
  /// cosine.
  double at(double lag, int64_t depth) const {
    const auto left = static_cast<int64_t>(std::floor(lag));
    if (lag == static_cast<double>(left)) return (*this)[left];
    depth = std::min({depth, left + last() + 1, last() - left});
    return side(lag - static_cast<double>(left), left, -1, depth) +
           side(static_cast<double>(left + 1) - lag, left + 1, 1, depth);
  }

 private:
  double side(double distance, int64_t lag, int64_t step, int64_t depth) const {
    const double width = distance + static_cast<double>(depth);
    double half_sine = 0.5 * std::sin(pi * distance), sum = 0;
    for (int64_t i = 0; i < depth; ++i, half_sine = -half_sine) {
      const double x = pi * (distance + static_cast<double>(i));
      sum += (*this)[lag + i * step] * half_sine / x * (1 + std::cos(x / width));
    }
    return sum;
  }

  std::vector<double> values_;
};

/// Where `f` is largest between `low` and `high`, by Brent's method: through the three best points
/// goes a parabola; where it does not help, the larger side is divided by the golden section.
double argmax(const std::function<double(double)>& f, double low, double high) {
  constexpr double kGolden = 0.3819660112501051, kTolerance = 1e-10, kRelative = 1.5e-8;
  constexpr int kMostSteps = 60;
  struct Point {
    double x, y;
  };
  const double start = low + kGolden * (high - low);
  Point best = {start, f(start)}, second = best, third = best;
  double step = 0, before = 0;
  for (int i = 0; i < kMostSteps; ++i) {
    const double smallest = kRelative * std::abs(best.x) + kTolerance / 3;
    if (std::abs(best.x - (low + high) / 2) + (high - low) / 2 <= 2 * smallest) break;
    const double r = (best.x - second.x) * (best.y - third.y);
    const double q = (best.x - third.x) * (best.y - second.y);
    const double p = (best.x - second.x) * r - (best.x - third.x) * q;
    const double parabola = q == r ? 0 : p / (2 * (q - r));
    const bool fits = std::abs(before) > smallest && q != r &&
                      std::abs(parabola) < std::abs(before / 2) && best.x + parabola > low &&
                      best.x + parabola < high;
    before = fits ? step : (best.x < (low + high) / 2 ? high : low) - best.x;
    step = fits ? parabola : kGolden * before;
    if (std::abs(step) < smallest) step = std::copysign(smallest, step);
    const Point next = {best.x + step, f(best.x + step)};
    if (next.y >= best.y) {
      (next.x < best.x ? high : low) = best.x;
      third = std::exchange(second, std::exchange(best, next));
      continue;
    }
    (next.x < best.x ? low : high) = next.x;
    if (next.y >= second.y || second.x == best.x) {
      third = std::exchange(second, next);
    } else if (next.y >= third.y || third.x == best.x || third.x == second.x) {
      third = next;
    }
  }
  return best.x;
}

struct Candidate {
  double frequency_hz = 0;  // 0: no voice
  double strength = 0;
  int64_t lag = 0;
};

struct PitchFrame {
  std::vector<Candidate> candidates;
  double intensity = 0;  // of the loudest sample of the voice
};

double without_excess(double strength) { return strength > 1 ? 1 / strength : strength; }

/// Finds the candidates of frames.
class PitchFinder {
 public:
  PitchFinder(const VoiceSamples& voice, const PitchRange& range)
      : voice_(voice.samples), rate_hz_(voice.rate_hz), range_(range) {
    half_window_ =
        static_cast<int64_t>(std::floor(kPeriodsPerWindow / range.floor_hz * rate_hz_)) / 2 - 1;
    period_ = static_cast<int64_t>(std::floor(rate_hz_ / range.floor_hz));
    const int64_t size = 2 * half_window_;
    longest_lag_ = std::min(
        static_cast<int64_t>(std::floor(static_cast<double>(size) / kPeriodsPerWindow)) + 2, size);
    for (int64_t i = 1; i <= size; ++i) {
      window_.push_back(
          0.5 - 0.5 * std::cos(static_cast<double>(i) * 2 * pi / static_cast<double>(size + 1)));
    }
    window_correlation_ = correlation(window_);
    const double power = window_correlation_[0];
    for (double& value : window_correlation_) value /= power;
    const double mean =
        std::accumulate(voice_.begin(), voice_.end(), 0.0) / static_cast<double>(voice_.size());
    for (const double sample : voice_) peak_ = std::max(peak_, std::abs(sample - mean));
  }

  PitchFrame frame(double middle) const {
    PitchFrame out;
    out.candidates.resize(1);
    const std::vector<double> samples = windowed(middle, out.intensity);
    std::vector<double> found = correlation(samples);
    if (found[0] == 0) return out;
    const double power = found[0];
    for (size_t i = 0; i < found.size(); ++i) found[i] /= power * window_correlation_[i];
    found[0] = 1;
    add_candidates(Correlation(std::move(found)), out.candidates);
    return out;
  }

 private:
  double sample(int64_t i) const {
    return i < 0 || i >= static_cast<int64_t>(voice_.size()) ? 0 : voice_[static_cast<size_t>(i)];
  }

  /// At lags of up to half a window.
  std::vector<double> correlation(const std::vector<double>& samples) const {
    std::vector<double> out;
    for (size_t lag = 0; lag <= static_cast<size_t>(half_window_); ++lag) {
      out.push_back(std::inner_product(samples.begin() + static_cast<int64_t>(lag), samples.end(),
                                       samples.begin(), 0.0));
    }
    return out;
  }

  std::vector<double> windowed(double middle, double& intensity) const {
    const auto right = static_cast<int64_t>(std::floor(middle)) + 1;
    double sum = 0;
    for (int64_t i = right - period_; i < right + period_; ++i) sum += sample(i);
    const double mean = sum / static_cast<double>(2 * period_);
    std::vector<double> out;
    double loudest = 0;
    const int64_t half_period = period_ / 2 + 1;
    for (int64_t i = 0; i < 2 * half_window_; ++i) {
      out.push_back((sample(right - half_window_ + i) - mean) * window_[static_cast<size_t>(i)]);
      if (i >= half_window_ - half_period && i < half_window_ + half_period) {
        loudest = std::max(loudest, std::abs(out.back()));
      }
    }
    intensity = peak_ == 0 ? 0 : std::min(1.0, loudest / peak_);
    return out;
  }

  double local_strength(const Candidate& candidate) const {
    return candidate.strength - kOctaveCost * std::log2(range_.floor_hz / candidate.frequency_hz);
  }

  void add_candidates(const Correlation& r, std::vector<Candidate>& to) const {
    for (int64_t lag = 2; lag < longest_lag_ && lag < r.last(); ++lag) {
      if (r[lag] <= kVoicingThreshold / 2 || r[lag] <= r[lag - 1] || r[lag] < r[lag + 1]) continue;
      const double slope = (r[lag + 1] - r[lag - 1]) / 2;
      const double peak = static_cast<double>(lag) + slope / (2 * r[lag] - r[lag - 1] - r[lag + 1]);
      const Candidate found = {rate_hz_ / peak, without_excess(r.at(peak, 30)), lag};
      if (to.size() < kMaxCandidates) {
        to.push_back(found);
        continue;
      }
      const auto weakest = std::min_element(
          to.begin() + 1, to.end(),
          [&](const auto& a, const auto& b) { return local_strength(a) < local_strength(b); });
      if (local_strength(found) > local_strength(*weakest)) *weakest = found;
    }
    for (size_t i = 1; i < to.size(); ++i) {
      const int64_t depth = to[i].frequency_hz > 0.3 * rate_hz_ ? 700 : 70;
      const auto value = [&](double lag) { return r.at(lag, depth); };
      const auto lag = static_cast<double>(to[i].lag);
      const double best = argmax(value, lag - 1, lag + 1);
      to[i] = {rate_hz_ / best, without_excess(value(best)), to[i].lag};
    }
  }

  const std::vector<double>& voice_;
  double rate_hz_;
  PitchRange range_;
  int64_t half_window_ = 0, period_ = 0, longest_lag_ = 0;  // samples
  std::vector<double> window_, window_correlation_;
  double peak_ = 0;
};

/// The path of the largest sum of strengths minus costs of changes.
std::vector<double> best_path(const std::vector<PitchFrame>& frames, double ceiling_hz,
                              double step_s) {
  const auto is_voiced = [&](const Candidate& candidate) {
    return candidate.frequency_hz > 0 && candidate.frequency_hz < ceiling_hz;
  };
  const double scale = 0.01 / step_s;
  const auto cost = [&](const Candidate& a, const Candidate& b) {
    if (is_voiced(a) != is_voiced(b)) return kVoicedUnvoicedCost * scale;
    if (!is_voiced(a)) return 0.0;
    return kOctaveJumpCost * scale * std::abs(std::log2(a.frequency_hz / b.frequency_hz));
  };
  const auto strength = [&](const PitchFrame& frame, const Candidate& candidate) {
    if (is_voiced(candidate)) {
      return candidate.strength - kOctaveCost * std::log2(ceiling_hz / candidate.frequency_hz);
    }
    const double silence = 2 - frame.intensity / (kSilenceThreshold / (1 + kVoicingThreshold));
    return kVoicingThreshold + std::max(0.0, silence);
  };
  std::vector<std::vector<size_t>> from(frames.size());
  std::vector<double> sums;
  for (size_t i = 0; i < frames.size(); ++i) {
    std::vector<double> next;
    for (const Candidate& candidate : frames[i].candidates) {
      size_t best = 0;
      double largest = i == 0 ? 0 : -1e30;
      for (size_t k = 0; k < sums.size(); ++k) {
        const double sum = sums[k] - cost(frames[i - 1].candidates[k], candidate);
        if (sum > largest) largest = sum, best = k;
      }
      from[i].push_back(best);
      next.push_back(largest + strength(frames[i], candidate));
    }
    sums = std::move(next);
  }
  std::vector<double> out(frames.size());
  auto place = static_cast<size_t>(std::max_element(sums.begin(), sums.end()) - sums.begin());
  for (size_t i = frames.size(); i-- > 0;) {
    out[i] = frames[i].candidates[place].frequency_hz;
    place = from[i][place];
  }
  return out;
}

}  // namespace

std::vector<double> praat_pitch_hz(const VoiceSamples& voice, const PitchRange& range,
                                   double step_s) {
  const Frames times(voice, kPeriodsPerWindow / range.floor_hz, step_s);
  if (times.count() == 0) return {};
  const PitchFinder finder(voice, range);
  std::vector<PitchFrame> frames;
  for (int64_t i = 0; i < times.count(); ++i) frames.push_back(finder.frame(times.middle(i)));
  return best_path(frames, std::min(range.ceiling_hz, voice.rate_hz / 2), step_s);
}

std::vector<double> praat_intensity_db(const VoiceSamples& voice, double step_s) {
  constexpr double kHalfWindow_s = 0.032, kHearing = 4e-10, kSilence_db = -300;
  const Frames times(voice, 2 * kHalfWindow_s, step_s);
  const auto half = static_cast<int64_t>(std::floor(kHalfWindow_s * voice.rate_hz));
  std::vector<double> window;
  for (int64_t i = -half; i <= half; ++i) {
    const double x = static_cast<double>(i) / (kHalfWindow_s * voice.rate_hz);
    window.push_back(
        std::cyl_bessel_i(0, (2 * pi * pi + 0.5) * std::sqrt(std::max(0.0, 1 - x * x))));
  }
  std::vector<double> out;
  for (int64_t frame = 0; frame < times.count(); ++frame) {
    // Praat counts samples from 1.
    const auto middle = static_cast<int64_t>(std::floor(times.middle(frame) + 1 + 0.5)) - 1;
    const int64_t begin = std::max<int64_t>(0, middle - half);
    const int64_t end = std::min(middle + half + 1, static_cast<int64_t>(voice.samples.size()));
    const auto first = voice.samples.begin();
    const double mean =
        std::accumulate(first + begin, first + end, 0.0) / static_cast<double>(end - begin);
    double power = 0, weights = 0;
    for (int64_t i = begin; i < end; ++i) {
      const double weight = window[static_cast<size_t>(i - middle + half)];
      const double sample = voice.samples[static_cast<size_t>(i)] - mean;
      power += sample * sample * weight;
      weights += weight;
    }
    const double intensity = power / weights / kHearing;
    out.push_back(intensity < 1e-30 ? kSilence_db : 10 * std::log10(intensity));
  }
  return out;
}

}  // namespace s2s::turn_taking
