#include "audio/polyphase.h"

#include <algorithm>
#include <cstring>

#include "base/lanes.h"

namespace s2s::data {
namespace {

/// Number of periods in a frame: enough to make its ends cheap, and whole vectors of outputs.
int64_t periods_of_frame(int64_t period) {
  constexpr int64_t kLong = 4 * kLanes;
  return period >= kLong ? 1 : (kLong + period * kLanes - 1) / (period * kLanes) * kLanes;
}

using LaneOffsets = int32_t __attribute__((vector_size(kLanes * sizeof(int32_t)), aligned(4)));

}  // namespace

struct Polyphase::Job {
  const Polyphase& of;
  const float* input;  // of the first frame
  float* output;
};

template <class In>
struct Polyphase::DotProducts {
  static S2S_BODY typename In::Type products(const Polyphase& of, const float* frame,
                                             int64_t phase) {
    const float* const input = frame + of.starts_[static_cast<size_t>(phase)];
    const float* const weights = of.weights_.data() + phase * of.taps_;
    typename In::Type sum = load_lanes<In>(input) * load_lanes<In>(weights);
    for (int64_t k = kLanes; k < of.taps_; k += kLanes) {
      sum += load_lanes<In>(input + k) * load_lanes<In>(weights + k);
    }
    return sum;
  }

  static S2S_BODY void run(const Job& job, int64_t begin, int64_t end) {
    const Polyphase& of = job.of;
    for (int64_t n = begin; n < end; ++n) {
      const float* const frame = job.input + n * of.from_;
      float* const output = job.output + n * of.to_;
      int64_t p = 0;
      for (; p + 4 <= of.to_; p += 4) {
        typename In::Type sums[4];
        for (int64_t i = 0; i < 4; ++i) sums[i] = products(of, frame, p + i);
        const QuadLanes four = totals(sums);
        std::memcpy(output + p, &four, sizeof four);
      }
      for (; p < of.to_; ++p) output[p] = total(products(of, frame, p));
    }
  }
};

/// Computes sixteen outputs together. For each tap, their inputs are shuffled out of two vectors.
struct Polyphase::Blocks {
  static S2S_BODY Lanes block(const Block& of, const float* input, const float* weights,
                              int64_t taps) {
    LaneOffsets offsets;
    std::memcpy(&offsets, of.offsets, sizeof offsets);
    Lanes even = {}, odd = {};
    int64_t k = 0;
    for (; k + 2 <= taps; k += 2) {
      even += __builtin_shuffle(load_lanes(input + k), load_lanes(input + k + kLanes), offsets) *
              load_lanes(weights + k * kLanes);
      odd += __builtin_shuffle(load_lanes(input + k + 1), load_lanes(input + k + 1 + kLanes),
                               offsets) *
             load_lanes(weights + (k + 1) * kLanes);
    }
    if (k < taps) {
      even += __builtin_shuffle(load_lanes(input + k), load_lanes(input + k + kLanes), offsets) *
              load_lanes(weights + k * kLanes);
    }
    return even + odd;
  }

  static S2S_BODY void run(const Job& job, int64_t begin, int64_t end) {
    const Polyphase& of = job.of;
    for (int64_t n = begin; n < end; ++n) {
      const float* const frame = job.input + n * of.from_;
      float* const output = job.output + n * of.to_;
      for (const Block& part : of.blocks_) {
        store_lanes(block(part, frame + part.start, of.block_weights_.data() + part.weights,
                          of.block_taps_),
                    output + part.phase);
      }
    }
  }
};

Polyphase::Polyphase(int64_t from, const std::vector<int64_t>& starts, const float* weights,
                     int64_t taps, Loop loop) {
  const auto period = static_cast<int64_t>(starts.size());
  const int64_t periods = periods_of_frame(period);
  from_ = from * periods;
  to_ = period * periods;
  taps_ = (taps + kLanes - 1) / kLanes * kLanes;
  weights_.resize(static_cast<size_t>(to_ * taps_));
  for (int64_t p = 0; p < to_; ++p) {
    starts_.push_back(starts[static_cast<size_t>(p % period)] + p / period * from);
    std::copy_n(weights + p % period * taps, taps, weights_.data() + p * taps_);
  }
  first_ = starts_.front();
  last_ = starts_.back() + taps_ + 2 * kLanes;
  if (loop == Loop::kBest && has_avx512()) make_blocks(taps);
}

void Polyphase::make_blocks(int64_t taps) {
  block_taps_ = taps;
  for (int64_t at = 0; at < to_; at += kLanes) {
    Block block;
    block.phase = std::min(at, to_ - kLanes);  // the last block may overlap the one before
    block.start = starts_[static_cast<size_t>(block.phase)];
    block.weights = static_cast<int64_t>(block_weights_.size());
    for (int64_t i = 0; i < kLanes; ++i) {
      const int64_t offset = starts_[static_cast<size_t>(block.phase + i)] - block.start;
      if (offset >= 2 * kLanes) {  // the inputs do not fit into two vectors
        blocks_ = {};
        block_weights_ = {};
        return;
      }
      block.offsets[i] = static_cast<int32_t>(offset);
    }
    for (int64_t k = 0; k < taps; ++k) {
      for (int64_t i = 0; i < kLanes; ++i) {
        block_weights_.push_back(weights_[static_cast<size_t>((block.phase + i) * taps_ + k)]);
      }
    }
    blocks_.push_back(block);
  }
  weights_ = {};
}

void Polyphase::run(const float* input, float* output, int64_t num_frames) const {
  const Job job = {*this, input, output};
#if defined(__x86_64__)
  if (!blocks_.empty()) return run_avx512<Blocks>(job, 0, num_frames);
#endif
  run_best<DotProducts<InLanes>, DotProducts<InPairs>>(job, 0, num_frames);
}

void Polyphase::operator()(const float* input, int64_t num_inputs, float* output,
                           int64_t num_outputs) const {
  const int64_t num_frames = (num_outputs + to_ - 1) / to_;
  // The frames [inside, after) have all their inputs: n from + first >= 0 and n from + last <=
  // num_inputs.
  const int64_t inside = std::min(num_frames, (std::max<int64_t>(0, -first_) + from_ - 1) / from_);
  const int64_t last_there = num_inputs < last_ ? 0 : (num_inputs - last_) / from_ + 1;
  const int64_t after = std::max(inside, std::min(last_there, num_outputs / to_));
  std::vector<float> edge(static_cast<size_t>(last_ - first_));
  std::vector<float> frame_outputs(static_cast<size_t>(to_));
  const auto at_the_edge = [&](int64_t frame) {
    const int64_t begin = frame * from_ + first_;
    const int64_t there = std::clamp<int64_t>(begin, 0, num_inputs);
    const int64_t end = std::clamp<int64_t>(begin + last_ - first_, there, num_inputs);
    std::fill(edge.begin(), edge.end(), 0.0F);
    std::copy(input + there, input + end, edge.begin() + (there - begin));
    run(edge.data() - first_, frame_outputs.data(), 1);
    std::copy_n(frame_outputs.begin(), std::min(to_, num_outputs - frame * to_),
                output + frame * to_);
  };
  for (int64_t n = 0; n < inside; ++n) at_the_edge(n);
  if (after > inside) run(input + inside * from_, output + inside * to_, after - inside);
  for (int64_t n = after; n < num_frames; ++n) at_the_edge(n);
}

}  // namespace s2s::data
