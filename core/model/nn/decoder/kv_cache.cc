#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "nn/decoder/fixed_keys.h"
#include "s2s/error.h"
#include "s2s/kinds/backbone.h"

namespace s2s {
namespace {

constexpr int64_t kFirstFrames = 64;

/// Moves the kept positions to the start of a memory for at least `needed` positions. Reuses the
/// same memory when it is at least twice as large. Moving then costs less than appending.
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

/// [B, kv heads, S, D] of zeros. In memory a position has its heads side by side, as a step has
/// them.
at::Tensor empty_places(const at::Tensor& like, int64_t count) {
  return at::zeros({like.size(0), count, like.size(1), like.size(3)}, like.options())
      .transpose(1, 2);
}

at::Tensor enlarged(const at::Tensor& memory, const at::Tensor& like, int64_t count) {
  const at::Tensor target = empty_places(like, count);
  if (memory.defined()) target.narrow(2, 0, memory.size(2)).copy_(memory);
  return target;
}

}  // namespace

KvCache::KvCache(int64_t num_layers) : entries_(static_cast<size_t>(num_layers)) {}

KvCache::~KvCache() = default;

std::pair<at::Tensor, at::Tensor> KvCache::append(int64_t layer, const at::Tensor& k,
                                                  const at::Tensor& v, int64_t window) {
  S2S_ASSERT(layer >= 0 && layer < static_cast<int64_t>(entries_.size()), "layer is in the model");
  const at::NoGradGuard no_grad;
  if (fixed_) return fixed_->append(layer, k, v, window, length_);
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

void KvCache::advance(int64_t num_frames) {
  length_ += num_frames;
  if (fixed_) fixed_->advance(num_frames);
}

void KvCache::clear() {
  for (Entry& entry : entries_) entry = {};
  length_ = 0;
  if (fixed_) fixed_->clear();
}

void KvCache::select_rows(const at::Tensor& rows_N) {
  S2S_ASSERT(!fixed_, "rows of reserved memory stay");
  for (Entry& entry : entries_) {
    if (!entry.k.defined()) continue;
    entry.k = entry.k.index_select(0, rows_N);
    entry.v = entry.v.index_select(0, rows_N);
  }
}

void KvCache::reserve(int64_t positions, at::Device device) {
  if (device.is_cpu()) return;
  if (!fixed_) {
    S2S_ASSERT(length_ == 0, "memory is reserved before the first step");
    fixed_ = std::make_unique<FixedKeys>(static_cast<int64_t>(entries_.size()));
  }
  fixed_->reserve(positions);
}

int64_t KvCache::capacity() const { return fixed_ ? fixed_->capacity() : 0; }

void FixedKeys::reserve(int64_t positions) {
  if (positions <= capacity_) return;
  const int64_t wanted = std::max({positions, 2 * capacity_, kFirstFrames});
  capacity_ = (wanted + kFirstFrames - 1) / kFirstFrames * kFirstFrames;
  key_begins_.reset();
}

const at::Tensor& FixedKeys::position(at::Device device) {
  if (!position_1_.defined()) {
    position_1_ = at::full({1}, length_, at::TensorOptions(at::kLong).device(device));
  }
  return position_1_;
}

FixedKeys::Entry& FixedKeys::room_for(int64_t layer, const at::Tensor& like) {
  Entry& entry = entries_[static_cast<size_t>(layer)];
  if (!entry.k.defined() || entry.k.size(2) < capacity_) {
    entry.k = enlarged(entry.k, like, capacity_);
    entry.v = enlarged(entry.v, like, capacity_);
  }
  return entry;
}

const at::Tensor& FixedKeys::visible(int64_t window, at::Device device) {
  at::Tensor& found = visible_[window];
  if (!found.defined()) {
    const at::Tensor place_S = at::arange(capacity_, at::TensorOptions(at::kLong).device(device));
    found = place_S.le(position(device));
    if (window > 0) found = found.logical_and(place_S.gt(position(device) - window));
  }
  return found;
}

void FixedKeys::count_rows(int64_t batch_size, at::Device device) {
  used_B_ = (position(device) + 1).to(at::kInt).expand({batch_size}).contiguous();
  if (key_begins_.defined()) return;
  query_begins_ = at::arange(batch_size + 1, at::TensorOptions(at::kInt).device(device));
  key_begins_ = query_begins_ * capacity_;
}

FixedReach FixedKeys::store(int64_t layer, const at::Tensor& k, const at::Tensor& v,
                            int64_t window) {
  const at::NoGradGuard no_grad;
  if (layer == 0) forget_step();  // of a step that broke off, as a failed recording does
  Entry& entry = room_for(layer, k);
  entry.k.index_copy_(2, position(k.device()), k);
  entry.v.index_copy_(2, position(k.device()), v);
  if (!used_B_.defined()) count_rows(k.size(0), k.device());
  return {entry.k, entry.v, visible(window, k.device()), used_B_, query_begins_, key_begins_};
}

std::pair<at::Tensor, at::Tensor> FixedKeys::append(int64_t layer, const at::Tensor& k,
                                                    const at::Tensor& v, int64_t window,
                                                    int64_t length) {
  const int64_t end = length + k.size(2);
  S2S_ASSERT(end <= capacity_, "memory is reserved before each step");
  Entry& entry = room_for(layer, k);
  entry.k.narrow(2, length, k.size(2)).copy_(k);
  entry.v.narrow(2, length, v.size(2)).copy_(v);
  const int64_t begin = window > 0 ? std::max<int64_t>(0, length - (window - 1)) : 0;
  return {entry.k.narrow(2, begin, end - begin), entry.v.narrow(2, begin, end - begin)};
}

void FixedKeys::advance(int64_t num_positions) {
  length_ += num_positions;
  if (position_1_.defined()) position_1_.add_(num_positions);
  forget_step();
}

void FixedKeys::forget_step() {
  visible_.clear();
  used_B_.reset();
}

void FixedKeys::clear() { *this = FixedKeys(static_cast<int64_t>(entries_.size())); }

}  // namespace s2s
