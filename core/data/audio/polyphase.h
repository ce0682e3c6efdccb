#pragma once
// The inner loop of resampling: each output is a short dot product of the input around it.

#include <cstdint>
#include <vector>

namespace s2s::data {

/// Filters of `to` phases. Output n * to + p is the sum over k of weights[p][k] *
/// input[n * from + starts[p] + k]; the input is zero before its first and after its last sample.
class Polyphase {
 public:
  enum class Loop {
    kBest,         // what this processor is fastest with
    kDotProducts,  // what every processor has
  };
  /// taps: how many weights each phase has in `weights` [to, taps]. Starts do not fall.
  Polyphase(int64_t from, const std::vector<int64_t>& starts, const float* weights, int64_t taps,
            Loop loop = Loop::kBest);

  /// Computes outputs [0, num_outputs) on the calling thread. Copies no input but at its ends.
  void operator()(const float* input, int64_t num_inputs, float* output, int64_t num_outputs) const;

 private:
  /// Sixteen consecutive phases whose inputs lie in two vectors.
  struct Block {
    int64_t start = 0;         // of its first phase
    int64_t phase = 0;         // the first
    int64_t weights = 0;       // where they begin in block_weights_, [taps, 16]
    int32_t offsets[16] = {};  // of each phase's input from the first one's
  };
  struct Job;
  template <class In>
  struct DotProducts;
  struct Blocks;

  void make_blocks(int64_t taps);
  /// `num_frames` frames, whose inputs lie around `input`.
  void run(const float* input, float* output, int64_t num_frames) const;

  int64_t from_, to_;  // of a frame: as many periods as make it long enough
  std::vector<int64_t> starts_;
  int64_t first_ = 0, last_ = 0;  // of a frame's inputs, [first, last)
  int64_t taps_ = 0;              // of weights_: with zeros up to whole vectors
  std::vector<float> weights_;    // empty where there are blocks
  std::vector<Block> blocks_;     // empty: dot products
  int64_t block_taps_ = 0;
  std::vector<float> block_weights_;
};

}  // namespace s2s::data
