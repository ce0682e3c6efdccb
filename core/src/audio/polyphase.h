#pragma once
// The inner loop of resampling: each output is a short dot product of the input around it.

#include <cstdint>
#include <vector>

namespace s2s::data {

/// Filters of `to` phases. Output n * to + p is the sum over k of weights[p][k] *
/// input[n * from + starts[p] + k]; the input is zero before its first and after its last sample.
class Polyphase {
 public:
  /// taps: how many weights each phase has in `weights` [to, taps].
  Polyphase(int64_t from, std::vector<int64_t> starts, const float* weights, int64_t taps);

  /// Computes outputs [0, num_outputs) on the calling thread. Copies no input but at its ends.
  void operator()(const float* input, int64_t num_inputs, float* output, int64_t num_outputs) const;

 private:
  /// Whole frames from `frame`, whose inputs lie around `input`.
  void run(const float* input, float* output, int64_t num_outputs) const;

  int64_t from_;
  std::vector<int64_t> starts_;
  int64_t first_ = 0, last_ = 0;  // of a frame's inputs, [first, last)
  int64_t taps_;                  // with zeros up to whole vectors
  std::vector<float> weights_;
};

}  // namespace s2s::data
