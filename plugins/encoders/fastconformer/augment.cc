#include "augment.h"

#include <ATen/ATen.h>

#include <cmath>
#include <cstdlib>
#include <vector>

#include "s2s/nn/rows.h"

namespace s2s::fastconformer {
namespace {

/// float32 on the device of `like`: what is drawn there costs no copy, and the host waits for none.
at::TensorOptions floats_beside(const at::Tensor& like) {
  return at::TensorOptions().dtype(at::kFloat).device(like.device());
}

/// [B, 1, 1] uniform in [low, high), one number for each row of x.
at::Tensor draw(const at::Tensor& x_BTF, double low, double high) {
  return at::rand({x_BTF.size(0), 1, 1}, floats_beside(x_BTF)).mul_(high - low).add_(low);
}

at::Tensor from_db(const at::Tensor& db) { return at::exp(db * (std::log(10.0) / 10)); }

/// Band f of the result is band f a of the input, with linear interpolation between bands.
at::Tensor warped(const at::Tensor& power_BTF, double most) {
  const int64_t batch = power_BTF.size(0), bands = power_BTF.size(2);
  const at::Tensor factor_B11 = draw(power_BTF, 1 - most, 1 + most);
  const at::Tensor position = (at::arange(bands, floats_beside(power_BTF)) * factor_B11)
                                  .clamp_max_(static_cast<double>(bands - 1));
  const at::Tensor lower = position.floor();
  const at::Tensor share = position - lower;
  const auto take = [&](const at::Tensor& index_B1F) {
    const at::Tensor index = index_B1F.to(at::kLong);
    return power_BTF.gather(2, index.expand({batch, power_BTF.size(1), bands}));
  };
  const at::Tensor upper = (lower + 1).clamp_max_(static_cast<double>(bands - 1));
  return at::lerp(take(lower), take(upper), share);
}

/// Noise with a random spectral slope, with an SNR of low_db to high_db against the row's mean
/// power.
at::Tensor noise_like(const at::Tensor& power_BTF, const at::Tensor& frames_B, double low_db,
                      double high_db) {
  const int64_t batch = power_BTF.size(0), width = power_BTF.size(1), bands = power_BTF.size(2);
  const at::Tensor lengths_B = frames_B.to(power_BTF.device());
  const at::Tensor valid = length_mask(lengths_B, width).unsqueeze(-1);
  const at::Tensor count = lengths_B.clamp_min(1).view({batch, 1, 1});
  const std::vector<int64_t> all_but_rows{1, 2};
  const at::Tensor frame_power = (power_BTF * valid).sum(all_but_rows, true) / count;
  const at::Tensor slope = draw(power_BTF, 0, 2);
  const at::Tensor octave = at::log(at::arange(1, bands + 1, floats_beside(power_BTF)));
  const at::Tensor color = at::softmax(octave.view({1, 1, bands}) * -slope, -1);
  const at::Tensor level = frame_power / from_db(draw(power_BTF, low_db, high_db));
  // The power of one bin of Gaussian noise is exponentially distributed.
  const at::Tensor grain =
      at::rand({batch, width, bands}, floats_beside(power_BTF)).neg_().log1p_().neg_();
  return level * (color * grain);
}

/// True inside the masks of one axis: [B, axis]. `width` is [B, 1] or a scalar; `length` is the
/// valid length of the axis.
at::Tensor random_masks(int64_t num_masks, int64_t axis, const at::Tensor& width_B1,
                        const at::Tensor& length_B1) {
  const int64_t batch = length_B1.size(0);
  const auto options = floats_beside(length_B1);
  const at::Tensor size = (at::rand({batch, num_masks}, options) * width_B1).to(at::kLong);
  const at::Tensor start =
      (at::rand({batch, num_masks}, options) * (length_B1 - size)).to(at::kLong);
  const at::Tensor range = at::arange(axis, options.dtype(at::kLong)).view({1, 1, axis});
  const at::Tensor inside =
      (range >= start.unsqueeze(-1)).logical_and(range < (start + size).unsqueeze(-1));
  return inside.any(1);
}

}  // namespace

at::Tensor augment_power(const at::Tensor& power_BTF, const at::Tensor& frames_B,
                         const AugmentOptions& options) {
  at::Tensor power = power_BTF;
  if (options.warp > 0) power = warped(power, options.warp);
  if (options.gain_db > 0) {
    power = power * from_db(draw(power, -options.gain_db, options.gain_db));
  }
  if (!options.noise_snr_db.empty()) {
    power = power + noise_like(power, frames_B, options.noise_snr_db[0], options.noise_snr_db[1]);
  }
  return power;
}

at::Tensor mask_features(const at::Tensor& x_BTF, const at::Tensor& frames_B,
                         const SpecAugmentOptions& options) {
  at::Tensor x = x_BTF;
  const at::Tensor frames_B1 = frames_B.to(x.device(), at::kLong).unsqueeze(1);
  if (options.time_masks > 0) {
    const double number = std::strtod(options.time_width.c_str(), nullptr);
    const bool share = options.time_width.find_first_of(".eE") != std::string::npos;
    const at::Tensor width =
        share ? (frames_B1.to(at::kFloat) * number).clamp_max(static_cast<double>(x.size(1)))
              : at::full({1, 1}, number, floats_beside(x));
    const at::Tensor masked = random_masks(options.time_masks, x.size(1), width, frames_B1);
    x = x.masked_fill(masked.unsqueeze(2), 0.0);
  }
  if (options.freq_masks > 0) {
    const at::Tensor width =
        at::full({1, 1}, static_cast<double>(options.freq_width), floats_beside(x));
    const at::Tensor bands_B1 = at::full_like(frames_B1, x.size(2));
    const at::Tensor masked = random_masks(options.freq_masks, x.size(2), width, bands_B1);
    x = x.masked_fill(masked.unsqueeze(1), 0.0);
  }
  return x;
}

}  // namespace s2s::fastconformer
