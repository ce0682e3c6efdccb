#pragma once
// Impulse responses of simulated rooms.

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace s2s::data {

/// Fast random approximation of room impulse responses (FRA-RIR, arXiv 2208.04101), with Lhotse's
/// names and defaults.
struct RandomRoom {
  int64_t sample_rate_hz = 16000;
  double max_t60_s = 0.8;  // reverberation time, at least 0.1
  double alpha = 0.25;     // share of near reflections
  double a = -2, b = 2;    // range of the perturbation of the number of reflections
  double tau = 0.2;        // growth of the perturbation with the distance
  uint64_t room_seed = 0;
  uint64_t source_seed = 0;
  uint64_t torch_seed = 0;  // argument of torch.manual_seed in Python; chooses the distances
};

/// Returns [1, N] float32; equal seeds give equal values.   Source: lhotse FastRandomRIRGenerator.
at::Tensor random_response(const RandomRoom& room);

}  // namespace s2s::data
