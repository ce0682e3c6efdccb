#include "nn/speech/local_attention.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "nn/speech/conformer_parts.h"

namespace s2s {

int64_t AttentionWindow::block() const {
  constexpr int64_t kSmallest = 16;  // smaller products are slower
  return std::max({left, right, kSmallest});
}

int64_t GlobalFrames::among(int64_t num_frames) const {
  return std::min(count, (num_frames + spacing - 1) / spacing);
}

at::Tensor window_positions(AttentionWindow window, int64_t width, at::Device device) {
  const auto [left, right] = window;
  const at::Tensor table = relative_positions(left, -right, width, device);
  if (left == right) return table;
  const int64_t wider = std::max(left, right);
  const int64_t before = std::max<int64_t>(0, 2 * left - wider);
  const int64_t after = std::max<int64_t>(0, 2 * right - wider + 1);
  at::Tensor placed = at::zeros_like(table);
  placed.narrow(0, 0, before).copy_(table.narrow(0, wider - left, before));
  placed.narrow(0, left + right + 1 - after, after).copy_(table.narrow(0, left, after));
  return placed;
}

namespace {

constexpr double kHidden = -10000;  // as in NeMo; the weight is exactly zero after softmax

/// Pads frames to whole blocks, plus a block on each side that is seen. Then puts the frames that
/// each block sees side by side: [..., T, X] -> [..., N, U, X].
at::Tensor seen_by_blocks(const at::Tensor& x, AttentionWindow window, double fill) {
  const int64_t block = window.block(), frames = x.size(-2), blocks = window.blocks(frames);
  const int64_t before = window.left > 0 ? 1 : 0, after = window.right > 0 ? 1 : 0;
  const at::Tensor padded =
      at::constant_pad_nd(x, {0, 0, before * block, (blocks + after) * block - frames}, fill);
  std::vector<int64_t> sizes = x.sizes().vec();
  sizes.back() = block;
  sizes[sizes.size() - 2] = blocks + before + after;
  sizes.push_back(x.size(-1));
  const at::Tensor in_blocks = padded.view(sizes);
  std::vector<at::Tensor> shifts;
  for (int64_t i = 0; i <= before + after; ++i) {
    shifts.push_back(in_blocks.narrow(-3, i, blocks));
  }
  return shifts.size() == 1 ? shifts.front() : at::cat(shifts, -2);
}

/// [..., N C, X] -> [..., N, C, X].
at::Tensor as_blocks(const at::Tensor& x, int64_t block) {
  std::vector<int64_t> sizes = x.sizes().vec();
  sizes.back() = block;
  sizes[sizes.size() - 2] /= block;
  sizes.push_back(x.size(-1));
  return x.reshape(sizes);
}

/// Moves the scores of positions to the keys: row i of a block starts i columns later. A row has
/// one column more than there are keys, so reading rows of that many columns moves each by one.
/// Positions outside the window are hidden.   [B, H, N, C, P] -> [B, H, N, C, U].
at::Tensor on_keys(const at::Tensor& by_position, AttentionWindow window) {
  const int64_t block = window.block(), keys = window.keys();
  const int64_t before = window.left > 0 ? block - window.left : 0;
  const at::Tensor rows =
      at::constant_pad_nd(by_position, {before, keys + 1 - before - window.positions()}, kHidden);
  return rows.flatten(-2).narrow(-1, 0, block * keys).unflatten(-1, {block, keys});
}

struct Heads {
  int64_t count, dim;
  double scale() const { return 1.0 / std::sqrt(static_cast<double>(dim)); }
  /// [B, T, M] -> [B, H, T, D].
  at::Tensor split(const at::Tensor& x_BTM) const {
    return x_BTM.unflatten(-1, {count, dim}).transpose(1, 2);
  }
  /// Queries with a bias, scaled and padded to whole blocks.
  at::Tensor biased(const at::Tensor& q_BHTD, const at::Tensor& bias_HD, int64_t padding) const {
    const at::Tensor bias = bias_HD.to(q_BHTD.scalar_type()).unsqueeze(1);
    return at::constant_pad_nd((q_BHTD + bias) * scale(), {0, 0, 0, padding});
  }
};

/// [B, H, T, D] -> [B, H, G, D].
at::Tensor global_rows(const at::Tensor& x_BHTD, const GlobalFrames& global) {
  return x_BHTD.slice(2, 0, global.count * global.spacing, global.spacing);
}

/// True where a global frame is padding: [B, 1, G, 1].
at::Tensor hidden_global(const LocalAttentionInput& input) {
  return global_rows(input.padding_BT1.unsqueeze(1), input.global);
}

/// The scores of the windows: [B, H, N, C, U].
at::Tensor window_scores(const LocalAttentionInput& input, const Heads& heads) {
  const AttentionWindow window = input.window;
  const at::Tensor q = heads.split(input.q_BTM);
  const int64_t frames = q.size(2), block = window.block();
  const int64_t padding = window.blocks(frames) * block - frames;
  const at::Tensor qu = as_blocks(heads.biased(q, input.bias_u_HD, padding), block);
  const at::Tensor qv = heads.biased(q, input.bias_v_HD, padding);
  const at::Tensor p_HDP = input.p_PM.unflatten(-1, {heads.count, heads.dim}).permute({1, 2, 0});
  const at::Tensor k = seen_by_blocks(heads.split(input.k_BTM), window, 0);
  at::Tensor scores = at::matmul(qu, k.transpose(-2, -1));
  scores.add_(on_keys(as_blocks(at::matmul(qv, p_HDP), block), window));
  return scores.add_(input.mask);
}

/// The scores of all frames with the global ones: [B, H, N, C, G].
at::Tensor scores_with_global(const LocalAttentionInput& input, const Heads& heads) {
  const AttentionWindow window = input.window;
  const at::Tensor q = heads.split(input.global.q_BTM) * heads.scale();
  const at::Tensor k = global_rows(heads.split(input.global.k_BTM), input.global);
  at::Tensor scores = at::matmul(q, k.transpose(-2, -1));
  if (input.padding_BT1.defined()) {
    scores = scores.masked_fill(hidden_global(input).transpose(-2, -1), kHidden);
  }
  const int64_t frames = q.size(2);
  const int64_t padding = window.blocks(frames) * window.block() - frames;
  return as_blocks(at::constant_pad_nd(scores, {0, 0, 0, padding}), window.block());
}

/// The queries of global frames for the scores with all: [B, H, G, D]. NeMo reads [G, H, D] of a
/// row as [H, G, D]; a row has as many global frames as are no padding.
at::Tensor queries_of_global(const LocalAttentionInput& input, const Heads& heads) {
  const at::Tensor q = global_rows(heads.split(input.global.q_BTM), input.global) * heads.scale();
  const int64_t batch = q.size(0), count = q.size(2);
  if (!input.padding_BT1.defined()) return q.transpose(1, 2).reshape(q.sizes());
  const at::Tensor valid_B11 = hidden_global(input).logical_not().sum(2);
  const auto numbers = [&](int64_t n) { return at::arange(n, valid_B11.options()); };
  const at::Tensor place_BHG = numbers(heads.count).unsqueeze(1) * valid_B11 + numbers(count);
  const at::Tensor place = place_BHG.clamp_max(heads.count * count - 1).view({batch, -1, 1});
  const at::Tensor flat = q.transpose(1, 2).reshape({batch, -1, heads.dim});
  return flat.gather(1, place.expand({-1, -1, heads.dim})).view(q.sizes());
}

/// What global frames get: [B, G, M].
at::Tensor all_for_global(const LocalAttentionInput& input, const Heads& heads) {
  const at::Tensor q = queries_of_global(input, heads);
  at::Tensor scores = at::matmul(q, heads.split(input.global.k_BTM).transpose(-2, -1));
  if (input.padding_BT1.defined()) {
    scores = scores.masked_fill(input.padding_BT1.unsqueeze(1).transpose(-2, -1), kHidden);
  }
  const at::Tensor weights = at::dropout(at::softmax(scores, -1), input.dropout, input.dropout > 0);
  return at::matmul(weights, heads.split(input.global.v_BTM)).transpose(1, 2).flatten(-2);
}

}  // namespace

at::Tensor window_mask(AttentionWindow window, int64_t num_frames, const at::Tensor& padding_BT1,
                       const at::TensorOptions& options) {
  const at::Tensor frames = padding_BT1.defined() ? padding_BT1.to(options.dtype()) * kHidden
                                                  : at::zeros({1, num_frames, 1}, options);
  return seen_by_blocks(frames, window, kHidden).squeeze(-1).unsqueeze(2).unsqueeze(1);
}

at::Tensor local_attention(const LocalAttentionInput& input) {
  const Heads heads{input.bias_u_HD.size(0), input.bias_u_HD.size(1)};
  const int64_t frames = input.q_BTM.size(1), count = input.global.among(frames);
  at::Tensor scores = window_scores(input, heads);
  if (count > 0) scores = at::cat({scores_with_global(input, heads), scores}, -1);
  const at::Tensor weights = at::dropout(at::softmax(scores, -1), input.dropout, input.dropout > 0);
  const at::Tensor v_BHTD = heads.split(input.v_BTM);
  const at::Tensor v = seen_by_blocks(v_BHTD, input.window, 0);
  at::Tensor y = at::matmul(weights.narrow(-1, count, input.window.keys()), v);
  if (count > 0) {
    const at::Tensor v_BHGD = global_rows(v_BHTD, input.global);
    y = y + at::matmul(weights.narrow(-1, 0, count), v_BHGD.unsqueeze(2));
  }
  y = y.flatten(2, 3).narrow(2, 0, frames).transpose(1, 2).flatten(-2);
  if (input.padding_BT1.defined()) y = y.masked_fill(input.padding_BT1, 0.0);
  if (count == 0) return y;
  const int64_t end = input.global.count * input.global.spacing;
  return at::slice_scatter(y, all_for_global(input, heads), 1, 0, end, input.global.spacing);
}

}  // namespace s2s
