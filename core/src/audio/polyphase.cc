#include "audio/polyphase.h"

#include <algorithm>
#include <cstring>

#include "base/lanes.h"

namespace s2s::data {
namespace {

struct Job {
  const float* input;  // of the first frame
  float* output;
  const int64_t* starts;
  const float* weights;
  int64_t from, to, taps;
};

/// Walks over outputs: which input and which weights.
struct Walk {
  const Job& job;
  const float* frame;
  const float* weights;
  int64_t phase = 0;

  S2S_BODY explicit Walk(const Job& of) : job(of), frame(of.input), weights(of.weights) {}
  S2S_BODY Lanes products() {
    const float* const input = frame + job.starts[phase];
    Lanes sum = load_lanes(input) * load_lanes(weights);
    for (int64_t k = kLanes; k < job.taps; k += kLanes) {
      sum += load_lanes(input + k) * load_lanes(weights + k);
    }
    weights += job.taps;
    if (++phase == job.to) {
      phase = 0;
      frame += job.from;
      weights = job.weights;
    }
    return sum;
  }
};

struct DotProducts {
  static S2S_BODY void run(const Job& job, int64_t begin, int64_t end) {
    Walk walk(job);
    int64_t i = begin;
    for (; i + 4 <= end; i += 4) {
      Lanes sums[4];
      for (Lanes& sum : sums) sum = walk.products();
      const QuadLanes four = totals(sums);
      std::memcpy(job.output + i, &four, sizeof four);
    }
    for (; i < end; ++i) job.output[i] = total(walk.products());
  }
};

}  // namespace

Polyphase::Polyphase(int64_t from, std::vector<int64_t> starts, const float* weights, int64_t taps)
    : from_(from),
      starts_(std::move(starts)),
      taps_((taps + kLanes - 1) / kLanes * kLanes),
      weights_(starts_.size() * static_cast<size_t>(taps_)) {
  for (size_t p = 0; p < starts_.size(); ++p) {
    std::copy_n(weights + static_cast<int64_t>(p) * taps, taps,
                weights_.data() + static_cast<int64_t>(p) * taps_);
  }
  first_ = *std::min_element(starts_.begin(), starts_.end());
  last_ = *std::max_element(starts_.begin(), starts_.end()) + taps_;
}

void Polyphase::run(const float* input, float* output, int64_t num_outputs) const {
  const Job job = {
      input, output, starts_.data(), weights_.data(), from_, static_cast<int64_t>(starts_.size()),
      taps_};
  run_best<DotProducts>(job, 0, num_outputs);
}

void Polyphase::operator()(const float* input, int64_t num_inputs, float* output,
                           int64_t num_outputs) const {
  const auto to = static_cast<int64_t>(starts_.size());
  const int64_t num_frames = (num_outputs + to - 1) / to;
  // Frames whose inputs are all there: n from + first >= 0 and n from + last <= num_inputs.
  const int64_t inside = std::min(num_frames, (std::max<int64_t>(0, -first_) + from_ - 1) / from_);
  const int64_t behind =
      std::clamp(num_inputs < last_ ? 0 : (num_inputs - last_) / from_ + 1, inside, num_frames);
  std::vector<float> edge(static_cast<size_t>(last_ - first_));
  const auto at_the_edge = [&](int64_t frame) {
    const int64_t begin = frame * from_ + first_;
    const int64_t there = std::clamp<int64_t>(begin, 0, num_inputs);
    const int64_t end = std::clamp<int64_t>(begin + last_ - first_, there, num_inputs);
    std::fill(edge.begin(), edge.end(), 0.0F);
    std::copy(input + there, input + end, edge.begin() + (there - begin));
    run(edge.data() - first_, output + frame * to, std::min(to, num_outputs - frame * to));
  };
  for (int64_t n = 0; n < inside; ++n) at_the_edge(n);
  const int64_t most = std::min(num_outputs, behind * to);
  if (behind > inside) run(input + inside * from_, output + inside * to, most - inside * to);
  for (int64_t n = behind; n < num_frames; ++n) at_the_edge(n);
}

}  // namespace s2s::data
