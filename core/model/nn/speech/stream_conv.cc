#include <ATen/ATen.h>

#include <algorithm>

#include "nn/speech/channels_last.h"
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

/// The newest positions that differ when rows end before `most` of them, where their end is
/// mirrored: these, those that they mirror, and those that would be padding.
int64_t tail_of(int64_t most, const ConvSpec& spec) {
  return 2 * most + std::max(spec.left, spec.stride) + 1;
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

bool StreamConv1d::is_plain(const at::Tensor& x_BCT, StreamState& state, bool is_last) const {
  const bool is_mirrored = spec_.padding != EdgePadding::kZeros;
  if (!uses_channels_last(x_BCT) || spec_.groups > 1 || x_BCT.size(2) == 0 ||
      (is_mirrored && spec_.right > 0) || (is_last && state.completes())) {
    return false;
  }
  const at::Tensor& past = state.kept(*this);
  const int64_t seen = x_BCT.size(2) + (past.defined() ? past.size(2) : 0);
  const int64_t needed = spec_.padding == EdgePadding::kReflect ? spec_.left + 1 : 1;
  if (state.count(*this) == 0 && seen < needed) return false;
  const at::Tensor& surplus_B = state.surplus_B();
  if (!is_mirrored || !surplus_B.defined()) return true;
  const int64_t most = surplus_B.max().item<int64_t>();
  return most == 0 || seen >= tail_of(most, spec_);
}

void StreamConv1d::end_rows(const at::Tensor& seen_BCT, const at::Tensor& surplus_B) const {
  const int64_t width = seen_BCT.size(2), most = surplus_B.max().item<int64_t>();
  if (most == 0) return;
  if (spec_.padding == EdgePadding::kZeros) {
    for (int64_t b = 0; b < seen_BCT.size(0); ++b) {
      const int64_t count = std::min(surplus_B[b].item<int64_t>(), width);
      seen_BCT[b].narrow(1, width - count, count).zero_();
    }
    return;
  }
  const int64_t count = tail_of(most, spec_);
  const at::Tensor tail_BCT = seen_BCT.narrow(2, width - count, count);
  tail_BCT.copy_(ended(tail_BCT, surplus_B));
}

void StreamConv1d::pad_front(const at::Tensor& front_BCT, const at::Tensor& seen_BCT) const {
  if (spec_.left == 0) return;
  if (spec_.padding == EdgePadding::kZeros) {
    front_BCT.zero_();
  } else if (spec_.padding == EdgePadding::kReplicate) {
    front_BCT.copy_(seen_BCT.narrow(2, 0, 1).expand_as(front_BCT));
  } else {
    front_BCT.copy_(seen_BCT.narrow(2, 1, spec_.left).flip(2));
  }
}

at::Tensor StreamConv1d::push_padded(const PointwiseLayer* before, const at::Tensor& x_BCT,
                                     StreamState& state, bool is_last) const {
  const at::Tensor& past = state.kept(*this);
  at::Tensor& surplus_B = state.surplus_B();
  int64_t& has_begun = state.count(*this);
  const int64_t front = has_begun == 0 ? spec_.left : 0, back = is_last ? spec_.right : 0;
  const int64_t old = past.defined() ? past.size(2) : 0, width = x_BCT.size(2);
  const at::Tensor all = new_channels_last(x_BCT, x_BCT.size(1), front + old + width + back);
  if (old > 0) all.narrow(2, front, old).copy_(past);
  const at::Tensor own = all.narrow(2, front + old, width);
  if (before != nullptr) {
    before->write(x_BCT, own);
  } else {
    own.copy_(x_BCT);
  }
  const at::Tensor seen = all.narrow(2, front, old + width);
  if (surplus_B.defined()) {
    end_rows(seen, surplus_B);
    if (spec_.stride > 1) surplus_B = at::floor_divide(surplus_B, spec_.stride);
  }
  if (has_begun == 0) pad_front(all.narrow(2, 0, front), seen);
  if (back > 0) all.narrow(2, front + old + width, back).zero_();
  has_begun = 1;
  return outputs_of(all, state);
}

at::Tensor StreamConv1d::push_after(const PointwiseLayer& before, const at::Tensor& x_BCT,
                                    StreamState& state, bool is_last) const {
  return is_plain(x_BCT, state, is_last) ? push_padded(&before, x_BCT, state, is_last)
                                         : AudioLayer::push_after(before, x_BCT, state, is_last);
}

at::Tensor StreamConv1d::push(const at::Tensor& x_BCT, StreamState& state, bool is_last) const {
  if (is_plain(x_BCT, state, is_last)) {
    const at::Tensor& past = state.kept(*this);
    const int64_t front = state.count(*this) == 0 ? spec_.left : 0,
                  back = is_last ? spec_.right : 0;
    const bool is_all = front == 0 && back == 0 && (!past.defined() || past.size(2) == 0);
    // Rows that end before are to be cut, and other memory is to be brought into order.
    const bool is_ready = !state.surplus_B().defined() && x_BCT.stride(1) == 1 && x_BCT.size(1) > 1;
    if (!is_all || !(is_ready || spec_.kernel == 1)) {
      return push_padded(nullptr, x_BCT, state, is_last);
    }
    state.count(*this) = 1;
    return outputs_of(x_BCT, state);
  }
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
  return outputs_of(seen, state);
}

at::Tensor StreamConv1d::outputs_of(const at::Tensor& seen_BCT, StreamState& state) const {
  const int64_t reach = reach_of(spec_), width = seen_BCT.size(2);
  const int64_t count = width < reach ? 0 : (width - reach) / spec_.stride + 1;
  const int64_t begin = count * spec_.stride;  // of what later outputs see
  state.kept(*this) = begin < width ? seen_BCT.narrow(2, begin, width - begin).clone()
                                    : seen_BCT.new_empty({seen_BCT.size(0), spec_.inputs, 0});
  if (count == 0) return seen_BCT.new_empty({seen_BCT.size(0), spec_.outputs, 0});
  const at::Tensor used = seen_BCT.narrow(2, 0, (count - 1) * spec_.stride + reach);
  if (spec_.groups == 1 && uses_channels_last(used)) {
    const at::Tensor packed = weight_.arranged([this](const at::Tensor& weight_OCK) {
      return packed_conv_weight(weight_OCK, spec_.stride, spec_.dilation);
    });
    return channels_last_conv(used, packed, weight_.bias, spec_.stride, spec_.dilation);
  }
  return at::conv1d(used, weight_.value(), weight_.bias, spec_.stride, at::IntArrayRef(kNoPadding),
                    spec_.dilation, spec_.groups);
}

namespace {

constexpr int kNewest = 1;  // StreamState::kept: the newest input, where outputs are of two

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

bool StreamConvTranspose1d::is_convolution(const at::Tensor& x_BCT) const {
  return uses_channels_last(x_BCT) && spec_.groups == 1 && spec_.kernel == 2 * spec_.stride;
}

at::Tensor StreamConvTranspose1d::cut_front(const at::Tensor& done_BCT, StreamState& state) const {
  int64_t& dropped = state.count(*this);
  const int64_t drops = std::min(spec_.left - dropped, done_BCT.size(2));
  if (drops <= 0) return done_BCT;
  dropped += drops;
  return done_BCT.narrow(2, drops, done_BCT.size(2) - drops);
}

at::Tensor StreamConvTranspose1d::push_pairs(const PointwiseLayer* before, const at::Tensor& x_BCT,
                                             StreamState& state, bool is_last) const {
  const int64_t stride = spec_.stride, batch = x_BCT.size(0), width = x_BCT.size(2);
  at::Tensor& newest = state.kept(*this, kNewest);
  // Of the newest input alone, after the last one.
  const int64_t rest = is_last && (width > 0 || newest.defined()) ? stride - spec_.right : 0;
  const int64_t count = width + (rest > 0 ? 1 : 0);
  if (count == 0) return x_BCT.new_empty({batch, spec_.outputs, 0});
  const at::Tensor all = new_channels_last(x_BCT, x_BCT.size(1), 1 + count);
  const at::Tensor first = all.narrow(2, 0, 1), own = all.narrow(2, 1, width);
  if (newest.defined()) {
    first.copy_(newest);
  } else {
    first.zero_();
  }
  if (before != nullptr) {
    before->write(x_BCT, own);
  } else {
    own.copy_(x_BCT);
  }
  if (rest > 0) all.narrow(2, 1 + width, 1).zero_();
  newest = all.narrow(2, width, 1).clone();
  // Outputs of a position: `stride` places, each with all channels.
  const at::Tensor packed = weight_.arranged([stride](const at::Tensor& weight_COK) {
    const at::Tensor weight_PC2 =
        weight_COK.unflatten(2, {2, stride}).flip({2}).permute({3, 1, 0, 2}).flatten(0, 1);
    return packed_conv_weight(weight_PC2, 1, 1);
  });
  const at::Tensor bias_P = spec_.has_bias ? weight_.bias.repeat({stride}) : at::Tensor();
  const at::Tensor y_BTP = channels_last_conv(all, packed, bias_P, 1, 1).transpose(1, 2);
  const at::Tensor y_BCT = y_BTP.reshape({batch, count * stride, spec_.outputs}).transpose(1, 2);
  return cut_front(y_BCT.narrow(2, 0, width * stride + rest), state);
}

at::Tensor StreamConvTranspose1d::push_after(const PointwiseLayer& before, const at::Tensor& x_BCT,
                                             StreamState& state, bool is_last) const {
  return is_convolution(x_BCT) ? push_pairs(&before, x_BCT, state, is_last)
                               : AudioLayer::push_after(before, x_BCT, state, is_last);
}

at::Tensor StreamConvTranspose1d::push(const at::Tensor& x_BCT, StreamState& state,
                                       bool is_last) const {
  if (is_convolution(x_BCT)) return push_pairs(nullptr, x_BCT, state, is_last);
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
  done = cut_front(done, state);
  return spec_.has_bias ? done + weight_.bias.view({1, -1, 1}) : done;
}

}  // namespace s2s
