#include "audio/random_room.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <cmath>
#include <numbers>

#include "audio/sinc_kernel.h"
#include "base/pcg64.h"
#include "s2s/data/resample.h"

namespace s2s::data {
namespace {

constexpr double kSoundSpeed = 340;    // m/s
constexpr int64_t kOversampling = 64;  // times the rate; reflections are placed at this rate
constexpr int64_t kMiddle = 8;         // times the rate; the high-pass filter works at this rate
constexpr double kHalfEpsilon = 0.0009765625;

at::Tensor uniform(Pcg64& generator, double low, double high, int64_t count) {
  at::Tensor values = at::empty({count}, at::kDouble);
  double* to = values.data_ptr<double>();
  for (int64_t i = 0; i < count; ++i) to[i] = generator.uniform(low, high);
  return values;
}

/// Resamples by a convolution, as torchaudio does. The recursion that follows amplifies every
/// difference in rounding, so no other method is possible.
at::Tensor resample_by_convolution(const at::Tensor& samples_S, int64_t from_hz, int64_t to_hz) {
  const SincKernel kernel = sinc_kernel(from_hz, to_hz, /*is_double=*/true);
  const at::Tensor padded =
      at::constant_pad_nd(samples_S.view({1, 1, -1}), {kernel.width, kernel.width + kernel.from});
  const at::Tensor frames = at::conv1d(padded, kernel.rows(), {}, kernel.from);
  const int64_t length = Resampler(from_hz, to_hz, true).num_samples(samples_S.size(0));
  return frames.transpose(1, 2).reshape(-1).narrow(0, 0, length);
}

/// torchaudio's highpass_biquad with the same order of operations in float, clipped to [-1, 1].
at::Tensor high_pass(const at::Tensor& samples_S, int64_t rate_hz, double cutoff_hz) {
  const at::Tensor w = 2 * std::numbers::pi * at::full({}, cutoff_hz, at::kFloat) / rate_hz;
  const at::Tensor alpha = at::sin(w) / 2.0 / at::full({}, 0.707, at::kFloat);
  const at::Tensor a0 = 1 + alpha, b0 = (1 + at::cos(w)) / 2;
  const at::Tensor b = at::stack({b0, -1 - at::cos(w), b0}) / a0;
  const float a1 = (-2 * at::cos(w) / a0).item<float>(), a2 = ((1 - alpha) / a0).item<float>();
  const at::Tensor padded = at::constant_pad_nd(samples_S.view({1, 1, -1}), {2, 0});
  const at::Tensor forward = at::conv1d(padded, b.flip(0).view({1, 1, 3})).view(-1).contiguous();
  const at::Tensor filtered_S = at::empty_like(forward);
  const float* x = forward.const_data_ptr<float>();
  float* y = filtered_S.data_ptr<float>();
  float y1 = 0, y2 = 0;
  for (int64_t i = 0; i < forward.numel(); ++i) {
    const float now = (x[i] - y2 * a2) - y1 * a1;
    y2 = y1, y1 = now;
    y[i] = now;
  }
  return filtered_S.clamp(-1, 1);
}

/// Position in samples and amplitude of each reflection.
struct Reflections {
  at::Tensor place, size;
};

Reflections draw_reflections(const RandomRoom& room, double t60_s, double rate_hz,
                             double reflectance) {
  Pcg64 source(room.source_seed);
  const double direct = source.uniform(0.2, 12.0);
  const int64_t images = room.sample_rate_hz * 2;
  const at::Tensor range = at::linspace(1.0, kSoundSpeed * t60_s / direct - 1, images, at::kFloat);
  at::Tensor chance = at::linspace(room.alpha, 1.0, images, at::kFloat).pow(2);
  chance = chance / chance.sum();
  const at::Generator torch = at::detail::createCPUGenerator(room.torch_seed);
  const at::Tensor ratio = range.index_select(0, at::multinomial(chance, images, true, torch));
  const at::Tensor distance = direct * ratio.to(at::kDouble);
  const double most = (std::log10(kSoundSpeed * t60_s) - std::log10(direct) - 3) /
                      std::log10(reflectance + kHalfEpsilon);
  at::Tensor count = (distance / (kSoundSpeed * t60_s)).pow(2) * (most - 1) + 1;
  count = count + uniform(source, room.a, room.b, images) * ratio.pow(room.tau);
  count = at::cat({at::zeros({1}, at::kDouble), count.clamp_min(1.0)});
  const at::Tensor all = at::cat({at::full({1}, direct, at::kDouble), distance});
  return {at::ceil(all * rate_hz / kSoundSpeed), at::pow(reflectance, count) / all};
}

}  // namespace

at::Tensor random_response(const RandomRoom& room) {
  const int64_t rate_hz = room.sample_rate_hz * kOversampling;
  Pcg64 generator(room.room_seed);
  const double t60_s = generator.uniform(0.1, room.max_t60_s);
  const double ratio = generator.uniform(0.1, 1.2);
  // Eyring's equation.
  const double absorbed = 1 - std::exp(-0.16 * ratio / t60_s);
  const double reflectance = std::sqrt(1 - absorbed * absorbed);
  const auto length = static_cast<int64_t>(std::ceil(static_cast<double>(rate_hz) * t60_s));
  const Reflections reflections =
      draw_reflections(room, t60_s, static_cast<double>(rate_hz), reflectance);
  const at::Tensor response = at::zeros({length}, at::kFloat);
  float* to = response.data_ptr<float>();
  const double* places = reflections.place.const_data_ptr<double>();
  const double* sizes = reflections.size.const_data_ptr<double>();
  // Of several reflections at one position the last counts, as in PyTorch's indexed assignment.
  for (int64_t i = 0; i < reflections.place.numel(); ++i) {
    const auto place = static_cast<int64_t>(std::min(places[i], static_cast<double>(length - 1)));
    to[place] = static_cast<float>(sizes[i]);
  }
  const int64_t middle_hz = room.sample_rate_hz * kMiddle;
  const at::Tensor middle = resample_by_convolution(response, rate_hz, middle_hz);
  const at::Tensor filtered = high_pass(middle, middle_hz, 80.0);
  return Resampler(middle_hz, room.sample_rate_hz, true)(filtered).unsqueeze(0);
}

}  // namespace s2s::data
