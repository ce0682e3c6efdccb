#include "audio/tempo.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/lanes.h"

namespace s2s::data {
namespace {

constexpr double kSegmentSeconds = 0.082;

/// Lengths in samples, with SoX's divisors of the segment's length.
struct Lengths {
  int64_t segment, search, overlap;

  explicit Lengths(double rate_hz)
      : segment(static_cast<int64_t>(rate_hz * kSegmentSeconds + 0.5)),
        search(static_cast<int64_t>(rate_hz * (kSegmentSeconds / 5.587) + 0.5)),
        overlap(std::max<int64_t>(static_cast<int64_t>(rate_hz * (kSegmentSeconds / 6.833) + 4.5),
                                  16)) {
    overlap -= overlap % 8;
    if (overlap * 2 > segment) overlap -= 8;
  }
};

/// Sums of squared differences between the end of the last segment and the possible next segments.
struct Fit {
  const float* last;   // interleaved
  const float* input;  // interleaved
  int64_t channels, length;
  float* sums;
};

template <class In>
struct Differences {
  static S2S_BODY void run(const Fit& fit, int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; ++at) {
      const float* const input = fit.input + at * fit.channels;
      typename In::Type sum = {};
      int64_t i = 0;
      for (; i + kLanes <= fit.length; i += kLanes) {
        const typename In::Type difference =
            load_lanes<In>(input + i) - load_lanes<In>(fit.last + i);
        sum += difference * difference;
      }
      float rest = 0;
      for (; i < fit.length; ++i) rest += (input[i] - fit.last[i]) * (input[i] - fit.last[i]);
      fit.sums[at] = total(sum) + rest;
    }
  }
};

/// Input and output are interleaved. The input is preceded and followed by silence.
class Stretcher {
 public:
  Stretcher(int64_t channels, double factor, int64_t rate)
      : channels_(channels), factor_(factor), lengths_(static_cast<double>(rate)) {}

  int64_t before() const { return lengths_.search / 2; }
  /// Number of input samples that have to follow the begin of a segment.
  int64_t needed() const { return lengths_.segment + lengths_.search; }
  /// Returns the input sample at which segment `number` begins.
  int64_t place(int64_t number) const {
    const int64_t hop = lengths_.segment - lengths_.overlap;
    return static_cast<int64_t>(factor_ * static_cast<double>(number * hop) + 0.5);
  }
  int64_t num_segments(int64_t num_outputs) const {
    return num_outputs / (lengths_.segment - lengths_.overlap) + 1;
  }

  std::vector<float> run(const std::vector<float>& input, int64_t num_segments) {
    for (int64_t number = 0; number < num_segments; ++number) {
      add(input.data() + place(number) * channels_);
    }
    return std::move(output_);
  }

 private:
  int64_t best_offset(const float* input) {
    std::vector<float> sums(static_cast<size_t>(std::max<int64_t>(1, lengths_.search)));
    const Fit fit = {last_.data(), input, channels_, channels_ * lengths_.overlap, sums.data()};
    run_best<Differences<InLanes>, Differences<InPairs>>(fit, 0, static_cast<int64_t>(sums.size()));
    return std::min_element(sums.begin(), sums.end()) - sums.begin();
  }

  void add(const float* input) {
    const int64_t overlap = lengths_.overlap * channels_, segment = lengths_.segment * channels_;
    const float* const begin =
        input + channels_ * (last_.empty() ? lengths_.search / 2 : best_offset(input));
    if (last_.empty()) {
      output_.insert(output_.end(), begin, begin + overlap);
    } else {
      const float step = 1.0F / static_cast<float>(lengths_.overlap);
      for (int64_t i = 0; i < overlap; ++i) {
        const float in = step * static_cast<float>(i / channels_);
        output_.push_back(last_[static_cast<size_t>(i)] * (1.0F - in) + begin[i] * in);
      }
    }
    output_.insert(output_.end(), begin + overlap, begin + segment - overlap);
    last_.assign(begin + segment - overlap, begin + segment);
  }

  int64_t channels_;
  double factor_;
  Lengths lengths_;
  std::vector<float> last_;  // the end of the last segment, which is faded into the next one
  std::vector<float> output_;
};

}  // namespace

at::Tensor change_tempo(const at::Tensor& audio_CS, double factor, int64_t sample_rate_hz) {
  const int64_t channels = audio_CS.size(0), length = audio_CS.size(1);
  if (factor == 1 || length == 0) return audio_CS;
  const auto num_outputs = static_cast<int64_t>(static_cast<double>(length) / factor + 0.5);
  Stretcher stretcher(channels, factor, sample_rate_hz);
  const int64_t num_segments = stretcher.num_segments(num_outputs);
  const int64_t end = stretcher.place(num_segments) + stretcher.needed();
  std::vector<float> input(
      static_cast<size_t>(std::max(end, stretcher.before() + length) * channels));
  const at::Tensor samples_SC = audio_CS.t().contiguous();
  std::copy_n(samples_SC.const_data_ptr<float>(), samples_SC.numel(),
              input.begin() + stretcher.before() * channels);
  const std::vector<float> output = stretcher.run(input, num_segments);
  at::Tensor result_SC = at::empty({num_outputs, channels}, at::kFloat);
  std::copy_n(output.begin(), result_SC.numel(), result_SC.data_ptr<float>());
  return result_SC.t();
}

}  // namespace s2s::data
