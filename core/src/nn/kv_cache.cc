#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "s2s/backbone.h"
#include "s2s/error.h"

namespace s2s {
namespace {

constexpr int64_t kFirstFrames = 64;

/// Memory for at least `needed` frames, holding the first `used` frames of `old`.
at::Tensor grown(const at::Tensor& old, int64_t used, int64_t needed, const at::Tensor& like) {
  const int64_t before = old.defined() ? old.size(2) : kFirstFrames / 2;
  std::vector<int64_t> sizes = like.sizes().vec();
  sizes[2] = std::max(2 * before, needed);
  at::Tensor memory = at::empty(sizes, like.options());
  if (used > 0) memory.narrow(2, 0, used).copy_(old.narrow(2, 0, used));
  return memory;
}

}  // namespace

KvCache::KvCache(int64_t num_layers) : entries_(static_cast<size_t>(num_layers)) {}

std::pair<at::Tensor, at::Tensor> KvCache::append(int64_t layer, const at::Tensor& k,
                                                  const at::Tensor& v) {
  S2S_ASSERT(layer >= 0 && layer < static_cast<int64_t>(entries_.size()), "layer is in the model");
  const at::NoGradGuard no_grad;
  Entry& entry = entries_[static_cast<size_t>(layer)];
  const int64_t total = entry.used + k.size(2);
  if (!entry.k.defined() || entry.k.size(2) < total) {
    entry.k = grown(entry.k, entry.used, total, k);
    entry.v = grown(entry.v, entry.used, total, v);
  }
  entry.k.narrow(2, entry.used, k.size(2)).copy_(k);
  entry.v.narrow(2, entry.used, v.size(2)).copy_(v);
  entry.used = total;
  return {entry.k.narrow(2, 0, total), entry.v.narrow(2, 0, total)};
}

void KvCache::clear() {
  for (Entry& entry : entries_) entry = {};
  length_ = 0;
}

}  // namespace s2s
