#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "s2s/error.h"
#include "s2s/kinds/backbone.h"

namespace s2s {
namespace {

constexpr int64_t kFirstFrames = 64;

/// The same positions at the beginning of memory for at least `needed`; in the same memory when
/// that is at least twice as large, so that moving costs less than the appending since.
at::Tensor moved_to_front(const at::Tensor& memory, const at::Tensor& kept, int64_t needed,
                          const at::Tensor& like) {
  const int64_t before = memory.defined() ? memory.size(2) : kFirstFrames / 2;
  std::vector<int64_t> sizes = like.sizes().vec();
  sizes[2] = std::max(2 * before, needed);
  const bool has_room = memory.defined() && 2 * needed <= before;
  const at::Tensor target = has_room ? memory : at::empty(sizes, like.options());
  if (kept.defined() && kept.size(2) > 0) {
    target.narrow(2, 0, kept.size(2)).copy_(has_room ? kept.clone() : kept);
  }
  return target;
}

at::Tensor part_of(const at::Tensor& memory, int64_t begin, int64_t count) {
  return memory.defined() ? memory.narrow(2, begin, count) : memory;
}

}  // namespace

KvCache::KvCache(int64_t num_layers) : entries_(static_cast<size_t>(num_layers)) {}

std::pair<at::Tensor, at::Tensor> KvCache::append(int64_t layer, const at::Tensor& k,
                                                  const at::Tensor& v, int64_t window) {
  S2S_ASSERT(layer >= 0 && layer < static_cast<int64_t>(entries_.size()), "layer is in the model");
  const at::NoGradGuard no_grad;
  Entry& entry = entries_[static_cast<size_t>(layer)];
  const int64_t kept = window > 0 ? std::min(entry.used, window - 1) : entry.used;
  entry.begin += entry.used - kept;
  entry.used = kept + k.size(2);
  if (!entry.k.defined() || entry.k.size(2) < entry.begin + entry.used) {
    entry.k = moved_to_front(entry.k, part_of(entry.k, entry.begin, kept), entry.used, k);
    entry.v = moved_to_front(entry.v, part_of(entry.v, entry.begin, kept), entry.used, v);
    entry.begin = 0;
  }
  entry.k.narrow(2, entry.begin + kept, k.size(2)).copy_(k);
  entry.v.narrow(2, entry.begin + kept, v.size(2)).copy_(v);
  return {part_of(entry.k, entry.begin, entry.used), part_of(entry.v, entry.begin, entry.used)};
}

void KvCache::clear() {
  for (Entry& entry : entries_) entry = {};
  length_ = 0;
}

}  // namespace s2s
