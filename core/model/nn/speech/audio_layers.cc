#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/parallel_rows.h"
#include "nn/kernels/row_kernels.h"
#include "nn/speech/channels_last.h"
#include "s2s/error.h"
#include "s2s/nn/audio.h"

namespace s2s {

AudioLayer::~AudioLayer() = default;

at::Tensor AudioLayer::operator()(const at::Tensor& x_BCT) const {
  StreamState state;
  return push(x_BCT, state, /*is_last=*/true);
}

at::Tensor AudioLayer::push_after(const PointwiseLayer& before, const at::Tensor& x_BCT,
                                  StreamState& state, bool is_last) const {
  return push(before.push(x_BCT, state, is_last), state, is_last);
}

PointwiseLayer::~PointwiseLayer() = default;

Elu::~Elu() = default;

namespace {

using WriteOfPart = std::function<void(const at::Tensor& x_BCT, at::Tensor& out_BCT)>;

/// Calls `write` for a few positions at a time, so that they stay in the cache when it passes over
/// them several times.
void write_in_parts(const at::Tensor& x_BCT, const at::Tensor& out_BCT, const WriteOfPart& write) {
  constexpr int64_t kNumbers = 16384;
  const int64_t positions = x_BCT.size(2);
  const int64_t count =
      std::max(kNumbers / std::max(x_BCT.size(0) * x_BCT.size(1), int64_t{1}), int64_t{1});
  parallel_rows((positions + count - 1) / count, 1, [&](int64_t first, int64_t last) {
    const at::NoGradGuard no_grad;  // of this thread
    for (int64_t i = first; i < last; ++i) {
      const int64_t size = std::min(count, positions - i * count);
      at::Tensor out = out_BCT.narrow(2, i * count, size);
      write(x_BCT.narrow(2, i * count, size), out);
    }
  });
}

/// What a layer that only writes returns.
at::Tensor written(const PointwiseLayer& layer, const at::Tensor& x_BCT) {
  const at::Tensor out_BCT = new_channels_last(x_BCT, x_BCT.size(1), x_BCT.size(2));
  layer.write(x_BCT, out_BCT);
  return out_BCT;
}

}  // namespace

at::Tensor Elu::push(const at::Tensor& x_BCT, StreamState&, bool) const {
  return uses_channels_last(x_BCT) ? written(*this, x_BCT) : at::elu(x_BCT);
}

/// at::elu computes one number after the other.
void Elu::write(const at::Tensor& x_BCT, const at::Tensor& out_BCT) const {
  constexpr int64_t kFew = 8192;
  for (int64_t b = 0; b < out_BCT.size(0); ++b) {
    const at::Tensor x_TC = x_BCT[b].t().contiguous(), y_TC = out_BCT[b].t();
    S2S_ASSERT(y_TC.is_contiguous(), "activations are written to channels-last memory");
    const rows::EluRows job{x_TC.const_data_ptr<float>(), y_TC.mutable_data_ptr<float>()};
    parallel_rows(x_TC.numel(), kFew,
                  [&](int64_t begin, int64_t end) { rows::run(job, begin, end); });
  }
}

Snake::Snake(int64_t channels, const WeightForm& form)
    : alpha_({1, channels, 1}, 0, 0, form, "alpha") {
  register_block("", alpha_);
}

Snake::~Snake() = default;

at::Tensor Snake::push(const at::Tensor& x_BCT, StreamState&, bool) const {
  if (uses_channels_last(x_BCT)) return written(*this, x_BCT);
  const at::Tensor alpha_1C1 = alpha_.value();
  return x_BCT + (alpha_1C1 + 1e-9).reciprocal() * (alpha_1C1 * x_BCT).sin().square();
}

void Snake::write(const at::Tensor& x_BCT, const at::Tensor& out_BCT) const {
  const at::Tensor alpha_1C1 = alpha_.value().detach();
  const at::Tensor scale_1C1 = (alpha_1C1 + 1e-9).reciprocal();
  write_in_parts(x_BCT, out_BCT, [&](const at::Tensor& part_BCT, at::Tensor& out) {
    at::Tensor wave = part_BCT * alpha_1C1;
    wave.sin_();
    at::addcmul_out(out, part_BCT, wave.mul_(wave), scale_1C1);
  });
}

AudioStack::~AudioStack() = default;

void AudioStack::add(std::unique_ptr<AudioLayer> layer, const std::string& name) {
  register_block(name.empty() ? prefix_ + std::to_string(count_) : name, *layer);
  ++count_;
  layers_.push_back(std::move(layer));
}

at::Tensor AudioStack::push(const at::Tensor& x_BCT, StreamState& state, bool is_last) const {
  at::Tensor x = x_BCT;
  for (size_t i = 0; i < layers_.size(); ++i) {
    const auto* const pointwise = dynamic_cast<const PointwiseLayer*>(layers_[i].get());
    if (pointwise != nullptr && i + 1 < layers_.size()) {
      x = layers_[++i]->push_after(*pointwise, x, state, is_last);
    } else {
      x = layers_[i]->push(x, state, is_last);
    }
  }
  return x;
}

ResidualUnit::ResidualUnit(std::string prefix, std::unique_ptr<AudioLayer> shortcut)
    : stack_(std::move(prefix)), shortcut_(std::move(shortcut)) {
  register_block("", stack_);
  if (shortcut_) register_block("shortcut", *shortcut_);
}

ResidualUnit::~ResidualUnit() = default;

ResidualUnit& ResidualUnit::add(std::unique_ptr<AudioLayer> layer, const std::string& name) {
  stack_.add(std::move(layer), name);
  return *this;
}

at::Tensor ResidualUnit::push(const at::Tensor& x_BCT, StreamState& state, bool is_last) const {
  const at::Tensor y_BCT = stack_.push(x_BCT, state, is_last);
  // Inputs wait for outputs that look ahead.
  at::Tensor& waiting = state.kept(*this);
  const at::Tensor x =
      joined_positions(waiting, shortcut_ ? shortcut_->push(x_BCT, state, is_last) : x_BCT);
  const int64_t ready = y_BCT.size(2);
  waiting = x.narrow(2, ready, x.size(2) - ready).clone();
  const at::Tensor ready_BCT = x.narrow(2, 0, ready);
  return uses_channels_last(y_BCT) ? y_BCT.add_(ready_BCT) : ready_BCT + y_BCT;
}

at::Tensor nearest_entry(const at::Tensor& latents_ND, const at::Tensor& entries_VD,
                         EntryDistance distance) {
  if (distance == EntryDistance::kCdist) {
    return at::cdist(latents_ND.unsqueeze(0), entries_VD.unsqueeze(0)).squeeze(0).argmin(-1);
  }
  if (distance == EntryDistance::kProductFirst) {
    const at::Tensor to_entries_NV = latents_ND.square().sum(-1, /*keepdim=*/true) -
                                     2 * at::matmul(latents_ND, entries_VD.t()) +
                                     entries_VD.square().sum(-1);
    return to_entries_NV.argmin(-1);
  }
  const at::Tensor distance_NV = latents_ND.square().sum(-1, /*keepdim=*/true) +
                                 entries_VD.square().sum(-1) -
                                 2 * at::matmul(latents_ND, entries_VD.t());
  return distance_NV.argmin(-1);
}

at::Tensor residual_codes(const at::Tensor& latents_BTD, const std::vector<at::Tensor>& books_VD,
                          EntryDistance distance) {
  if (latents_BTD.size(1) == 0) {
    return latents_BTD.new_empty({latents_BTD.size(0), 0, static_cast<int64_t>(books_VD.size())},
                                 at::kLong);
  }
  at::Tensor residual_ND = latents_BTD.reshape({-1, latents_BTD.size(2)});
  std::vector<at::Tensor> codes;
  for (const at::Tensor& book_VD : books_VD) {
    const at::Tensor code_N = nearest_entry(residual_ND, book_VD, distance);
    residual_ND = residual_ND - at::embedding(book_VD, code_N);
    codes.push_back(code_N.view({latents_BTD.size(0), latents_BTD.size(1)}));
  }
  return at::stack(codes, -1);
}

at::Tensor sum_of_entries(const at::Tensor& codes_BTK, const std::vector<at::Tensor>& books_VD) {
  at::Tensor sum_BTD;
  for (int64_t k = 0; k < codes_BTK.size(2); ++k) {
    const at::Tensor entry_BTD =
        at::embedding(books_VD[static_cast<size_t>(k)], codes_BTK.select(2, k));
    sum_BTD = sum_BTD.defined() ? sum_BTD + entry_BTD : entry_BTD;
  }
  return sum_BTD;
}

int64_t ScalarLevels::codebook_size() const {
  return std::accumulate(counts_.begin(), counts_.end(), int64_t{1}, std::multiplies<>());
}

at::Tensor ScalarLevels::codes(const at::Tensor& levels) const {
  at::Tensor sum;
  for (size_t i = counts_.size(); i-- > 0;) {
    const at::Tensor level = levels.select(-1, static_cast<int64_t>(i));
    sum = sum.defined() ? sum * counts_[i] + level : level;
  }
  return sum;
}

at::Tensor ScalarLevels::levels(const at::Tensor& codes) const {
  std::vector<at::Tensor> levels;
  at::Tensor rest = codes;
  for (const int64_t count : counts_) {
    levels.push_back(rest.remainder(count));
    rest = at::div(rest, count, "floor");
  }
  return at::stack(levels, -1);
}

}  // namespace s2s
