#pragma once
// The thinning convolutions of a subsampling stage as loops over sixteen channels at a time: what a
// ReLU lets through is convolved channel by channel (kernel 3 x 3, stride 2 x 2) without ever being
// stored whole. See striding_fused.h for the gradients' bookkeeping.
// Shape letters: T frames, F bands of the input; U, G of the output; C channels, last and
// contiguous.

#include <cstdint>

namespace s2s::striding {

constexpr int64_t kBlock = 16;  // channels of one block, as many as kLanes
constexpr int64_t kTaps = 9;    // of a 3 x 3 kernel

/// Sizes of one depth-wise stage. Padding is `left` before and whatever it takes after.
struct Geometry {
  int64_t batch, frames, bands;         // of the activations
  int64_t out_frames, out_bands, left;  // of the result
  int64_t channels;
};

/// Where activations come from. Rows at or beyond a row's `valid` frames count as zero.
/// Either a first convolution of one channel, computed on the way: `image` [B, 2 T + 1 or more, 2 F
/// + 1 or more] is padded already; or numbers before their ReLU: `before` [B, T, F, C].
struct Source {
  const int64_t* valid;          // [B]
  const float* image = nullptr;  // first convolution
  int64_t image_frames = 0, image_bands = 0;
  const float* first_taps = nullptr;  // [9, C]
  const float* first_bias = nullptr;  // [C]
  const float* before = nullptr;      // or this
};

struct Forward {
  Geometry size;
  Source source;
  const float* taps;  // [9, C]
  const float* bias;  // [C]
  float* out;         // [B, U, G, C]
};

struct Backward {
  Geometry size;
  Source source;
  const float* taps;                 // [9, C]
  const float* grad_out;             // [B, U, G, C]
  float* grad_taps;                  // [9, C]
  float* grad_bias;                  // [C]
  float* grad_first_taps = nullptr;  // [9, C], for an image
  float* grad_first_bias = nullptr;  // [C], for an image
  float* grad_before = nullptr;      // [B, T, F, C], otherwise; zero where nothing is written
};

/// Channel blocks [begin, end) of all rows; results do not depend on how blocks are dealt out.
void run(const Forward& job, int64_t begin, int64_t end);
void run(const Backward& job, int64_t begin, int64_t end);

}  // namespace s2s::striding
