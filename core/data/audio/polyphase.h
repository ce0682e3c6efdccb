#pragma once
// The inner loop of resampling: each output is a short dot product with nearby inputs.

#include <cstdint>
#include <vector>

namespace s2s::data {

/// Filters with `to` phases. Output n * to + p is the sum over k of weights[p][k] * input[n * from
/// + starts[p] + k]. The input is zero before its first sample and after its last one.
class Polyphase {
 public:
  enum class Loop {
    kBest,         // the fastest method of this processor
    kDotProducts,  // the method that all processors have
  };
  /// taps: number of weights of each phase in `weights` [to, taps]. Starts are ascending.
  Polyphase(int64_t from, const std::vector<int64_t>& starts, const float* weights, int64_t taps,
            Loop loop = Loop::kBest);

  /// Computes outputs [0, num_outputs) on the calling thread. Copies inputs only at both ends.
  void operator()(const float* input, int64_t num_inputs, float* output, int64_t num_outputs) const;

 private:
  /// Sixteen consecutive phases whose inputs fit into two vectors.
  struct Block {
    int64_t start = 0;         // input of its first phase
    int64_t phase = 0;         // its first phase
    int64_t weights = 0;       // offset of its weights in block_weights_, [taps, 16]
    int32_t offsets[16] = {};  // inputs of each phase, relative to the first one
  };
  struct Job;
  template <class In>
  struct DotProducts;
  struct Blocks;

  void make_blocks(int64_t taps);
  /// Computes `num_frames` frames whose inputs are all in `input`.
  void run(const float* input, float* output, int64_t num_frames) const;

  int64_t from_, to_;  // of a frame, which has as many periods as make it long enough
  std::vector<int64_t> starts_;
  int64_t first_ = 0, last_ = 0;  // inputs of a frame, [first, last)
  int64_t taps_ = 0;              // of weights_, filled with zeros up to whole vectors
  std::vector<float> weights_;    // empty if there are blocks
  std::vector<Block> blocks_;     // empty: dot products are used
  int64_t block_taps_ = 0;
  std::vector<float> block_weights_;
};

}  // namespace s2s::data
