#include <ATen/ATen.h>

#include <algorithm>

#include "s2s/error.h"
#include "s2s/nn/audio.h"

namespace s2s {
namespace {

constexpr int64_t kNoPadding = 0;  // as a literal, 0 is also a null string
constexpr int kTail = 1;           // StreamState::kept: the newest inputs, for reflections

/// Positions that one output sees, from the first to the last.
int64_t reach_of(const ConvSpec& spec) { return (spec.kernel - 1) * spec.dilation + 1; }

ConvSpec completed(ConvSpec spec) {
  if (spec.left == -1) spec.left = reach_of(spec) - spec.stride;
  return spec;
}

at::Tensor joined(const at::Tensor& before, const at::Tensor& x_BCT) {
  return before.defined() ? at::cat({before, x_BCT}, 2) : x_BCT;
}

}  // namespace

StreamConv1d::StreamConv1d(const ConvSpec& spec)
    : spec_(completed(spec)),
      weight_({spec.outputs, spec.inputs / spec.groups, spec.kernel},
              spec.inputs / spec.groups * spec.kernel, spec.has_bias ? spec.outputs : 0,
              spec.form) {
  S2S_ASSERT(spec_.left >= 0, "a causal convolution sees all of its stride");
  register_block(spec.name, weight_);
}

StreamConv1d::~StreamConv1d() = default;

at::Tensor StreamConv1d::ended(const at::Tensor& x_BCT, const at::Tensor& surplus_B) const {
  const int64_t width = x_BCT.size(2);
  const at::Tensor end_B1 = (width - surplus_B).clamp_min(0).unsqueeze(1);
  const at::Tensor place_1T = at::arange(width, end_B1.options()).unsqueeze(0);
  const at::Tensor is_beyond_B1T = place_1T.ge(end_B1).unsqueeze(1);
  const at::Tensor alone_BCT = x_BCT.masked_fill(is_beyond_B1T, 0);
  if (spec_.padding == EdgePadding::kZeros) return alone_BCT;
  at::Tensor last_B1 = end_B1 - 1;
  at::Tensor from_BT;
  if (spec_.padding == EdgePadding::kReplicate) {
    from_BT = place_1T.minimum(last_B1);
  } else {
    // A row that is shorter than its padding is first continued with zeros.
    last_B1 = last_B1.clamp_min(std::max(spec_.left, spec_.right + spec_.stride - 1));
    from_BT = at::where(place_1T.gt(last_B1), 2 * last_B1 - place_1T, place_1T);
  }
  const at::Tensor from_BCT = from_BT.clamp(0, width - 1).unsqueeze(1).expand_as(x_BCT);
  return alone_BCT.gather(2, from_BCT);
}

at::Tensor StreamConv1d::padded_front(const at::Tensor& x_BCT) const {
  const int64_t left = spec_.left;
  if (left == 0) return x_BCT;
  at::Tensor front;
  if (spec_.padding == EdgePadding::kZeros) {
    front = x_BCT.new_zeros({x_BCT.size(0), x_BCT.size(1), left});
  } else if (spec_.padding == EdgePadding::kReplicate) {
    front = x_BCT.narrow(2, 0, 1).expand({-1, -1, left});
  } else {
    front = x_BCT.narrow(2, 1, left).flip(2);
  }
  return at::cat({front, x_BCT}, 2);
}

at::Tensor StreamConv1d::reflected_briefly(const at::Tensor& x_BCT, int64_t right) const {
  const int64_t width = x_BCT.size(2), most = std::max(spec_.left, right);
  const int64_t zeros = most - width + 1;
  const at::Tensor longer_BCT = at::constant_pad_nd(x_BCT, {0, zeros});
  const at::Tensor front_BCT = longer_BCT.narrow(2, 1, spec_.left).flip(2);
  const at::Tensor back_BCT = at::cat(
      {longer_BCT.narrow(2, width, zeros), longer_BCT.narrow(2, most - right, right).flip(2)}, 2);
  return at::cat({front_BCT, x_BCT, back_BCT.narrow(2, 0, right)}, 2);
}

at::Tensor StreamConv1d::padded_back(const at::Tensor& x_BCT, const at::Tensor& newest) const {
  const int64_t right = spec_.right;
  if (right == 0) return x_BCT;
  at::Tensor back;
  if (spec_.padding == EdgePadding::kZeros) {
    back = x_BCT.new_zeros({x_BCT.size(0), x_BCT.size(1), right});
  } else if (spec_.padding == EdgePadding::kReplicate) {
    back = newest.narrow(2, newest.size(2) - 1, 1).expand({-1, -1, right});
  } else {
    back = newest.narrow(2, newest.size(2) - 1 - right, right).flip(2);
  }
  return at::cat({x_BCT, back}, 2);
}

at::Tensor StreamConv1d::push(const at::Tensor& x_BCT, StreamState& state, bool is_last) const {
  at::Tensor& past = state.kept(*this);
  at::Tensor& tail = state.kept(*this, kTail);
  at::Tensor& surplus_B = state.surplus_B();
  int64_t& has_begun = state.count(*this);
  at::Tensor seen = joined(past, x_BCT);
  bool is_ended = seen.size(2) > 0 && (surplus_B.defined() || (is_last && state.completes()));
  if (is_ended && surplus_B.defined()) {
    const int64_t right = is_last ? spec_.right : 0;
    seen = ended(at::constant_pad_nd(seen, {0, right}), surplus_B + right);
    if (spec_.stride > 1) surplus_B = at::floor_divide(surplus_B, spec_.stride);
  } else if (is_ended) {
    const int64_t positions = seen.size(2) - (has_begun == 0 ? 0 : spec_.left);
    const int64_t count = (positions + spec_.stride - 1) / spec_.stride;
    const int64_t added = count * spec_.stride - positions + spec_.right;
    const at::Tensor added_1 =
        at::full({1}, added, at::TensorOptions(at::kLong).device(x_BCT.device()));
    seen = ended(at::constant_pad_nd(seen, {0, added}), added_1);
  }
  const bool reflects = spec_.padding == EdgePadding::kReflect;
  if (spec_.right > 0 && spec_.padding != EdgePadding::kZeros) {
    const at::Tensor all = joined(tail, x_BCT);
    const int64_t kept = std::min(all.size(2), spec_.right + 1);
    tail = all.narrow(2, all.size(2) - kept, kept).clone();
  }
  const int64_t needed = reflects ? spec_.left + 1 : 1;
  bool is_padded = is_ended;  // at the end
  if (has_begun == 0) {
    if (seen.size(2) < needed && (!is_last || seen.size(2) == 0)) {
      past = seen.clone();
      return x_BCT.new_empty({x_BCT.size(0), spec_.outputs, 0});
    }
    if (seen.size(2) < needed) {
      seen = reflected_briefly(seen, is_ended ? 0 : spec_.right);
      is_padded = true;
    } else {
      seen = padded_front(seen);
    }
    has_begun = 1;
  }
  if (is_last && !is_padded) seen = padded_back(seen, tail);
  const int64_t reach = reach_of(spec_);
  const int64_t count = seen.size(2) < reach ? 0 : (seen.size(2) - reach) / spec_.stride + 1;
  const int64_t begin = count * spec_.stride;  // of what later outputs see
  past = begin < seen.size(2) ? seen.narrow(2, begin, seen.size(2) - begin).clone()
                              : seen.narrow(2, 0, 0);
  if (count == 0) return x_BCT.new_empty({x_BCT.size(0), spec_.outputs, 0});
  const at::Tensor used = seen.narrow(2, 0, (count - 1) * spec_.stride + reach);
  return at::conv1d(used, weight_.value(), weight_.bias, spec_.stride, at::IntArrayRef(kNoPadding),
                    spec_.dilation, spec_.groups);
}

namespace {

ConvTransposeSpec completed(ConvTransposeSpec spec) {
  if (spec.right == -1) spec.right = spec.kernel - spec.stride;
  return spec;
}

}  // namespace

StreamConvTranspose1d::StreamConvTranspose1d(const ConvTransposeSpec& spec)
    : spec_(completed(spec)),
      weight_({spec.inputs, spec.outputs / spec.groups, spec.kernel},
              spec.inputs / spec.groups * spec.kernel / spec.stride,
              spec.has_bias ? spec.outputs : 0, spec.form) {
  S2S_ASSERT(spec_.kernel >= spec_.stride && spec_.right <= spec_.kernel - spec_.stride,
             "what is dropped at the end is not complete before");
  register_block(spec.name, weight_);
}

StreamConvTranspose1d::~StreamConvTranspose1d() = default;

at::Tensor StreamConvTranspose1d::push(const at::Tensor& x_BCT, StreamState& state,
                                       bool is_last) const {
  const int64_t overlap = spec_.kernel - spec_.stride, width = x_BCT.size(2) * spec_.stride;
  at::Tensor& past = state.kept(*this);
  at::Tensor done;
  if (x_BCT.size(2) > 0) {
    const at::Tensor sum =
        at::conv_transpose1d(x_BCT, weight_.value(), {}, spec_.stride, 0, 0, spec_.groups);
    if (past.defined()) sum.narrow(2, 0, overlap).add_(past);
    past = sum.narrow(2, width, overlap).clone();
    done = sum.narrow(2, 0, width);
  } else {
    done = x_BCT.new_empty({x_BCT.size(0), spec_.outputs, 0});
  }
  if (is_last && past.defined() && overlap > spec_.right) {
    done = at::cat({done, past.narrow(2, 0, overlap - spec_.right)}, 2);
  }
  int64_t& dropped = state.count(*this);
  const int64_t drops = std::min(spec_.left - dropped, done.size(2));
  if (drops > 0) {
    dropped += drops;
    done = done.narrow(2, drops, done.size(2) - drops);
  }
  return spec_.has_bias ? done + weight_.bias.view({1, -1, 1}) : done;
}

}  // namespace s2s
