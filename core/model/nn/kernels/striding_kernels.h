#pragma once
// The strided depth-wise convolutions of a subsampling stage, as loops over sixteen channels. The
// outputs of a ReLU are convolved per channel (kernel 3 x 3, stride 2 x 2) without being stored as
// a whole. striding_fused.h describes the gradients.
// Shape letters: T frames, F bands of the input; U, G of the output; C channels, last and
// contiguous.

#include <cstdint>

namespace s2s::striding {

constexpr int64_t kBlock = 16;  // channels per block, as many as kLanes
constexpr int64_t kTaps = 9;    // of a 3 x 3 kernel

/// Sizes of a depth-wise stage. `left` zeros are padded before, and as many as needed after.
struct Geometry {
  int64_t batch, frames, bands;         // of the activations
  int64_t out_frames, out_bands, left;  // of the result
  int64_t channels;
};

/// The source of the activations. Frames at or after a row's `valid` count as zero. Either the
/// output of a first convolution with one input channel, computed on the fly: `image` [B, 2 T + 1
/// or more, 2 F + 1 or more] is already padded. Or stored values before their ReLU: `before` [B, T,
/// F, C].
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
  float* grad_before = nullptr;      // [B, T, F, C], otherwise; must be zero-initialized
};

/// Processes channel blocks [begin, end) of all rows. Results do not depend on the assignment of
/// blocks to threads.
void run(const Forward& job, int64_t begin, int64_t end);
void run(const Backward& job, int64_t begin, int64_t end);

}  // namespace s2s::striding
