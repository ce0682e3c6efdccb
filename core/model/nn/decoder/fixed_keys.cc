#include "nn/decoder/fixed_keys.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "s2s/error.h"

namespace s2s {
namespace {

constexpr int64_t kPlacesStep = 64;

/// [R, kv heads, S, D] of zeros. In memory a position has its heads side by side, as a step has
/// them.
at::Tensor empty_places(const at::Tensor& like, int64_t num_rows, int64_t count) {
  return at::zeros({num_rows, count, like.size(1), like.size(3)}, like.options()).transpose(1, 2);
}

at::Tensor enlarged(const at::Tensor& memory, const at::Tensor& like, int64_t num_rows,
                    int64_t count) {
  const at::Tensor target = empty_places(like, num_rows, count);
  if (memory.defined()) target.narrow(2, 0, memory.size(2)).copy_(memory);
  return target;
}

/// The places [count] int64 of positions begin, begin + 1, ... in a ring.
at::Tensor places_of(int64_t begin, int64_t count, int64_t ring, at::Device device) {
  return at::arange(begin, begin + count, at::TensorOptions(at::kLong).device(device))
      .remainder(ring);
}

}  // namespace

FixedKeys::FixedKeys(int64_t num_layers, const std::vector<int64_t>& lengths)
    : entries_(static_cast<size_t>(num_layers)), lengths_(lengths) {}

void FixedKeys::reserve(int64_t positions) {
  if (positions <= capacity_) return;
  const int64_t wanted = std::max({positions, 2 * capacity_, kPlacesStep});
  capacity_ = (wanted + kPlacesStep - 1) / kPlacesStep * kPlacesStep;
}

const at::Tensor& FixedKeys::position(at::Device device) {
  if (!position_R_.defined()) {
    const auto ids = at::TensorOptions(at::kLong).device(device);
    const auto count = static_cast<int64_t>(lengths_.size());
    const int64_t first = lengths_.front();
    const bool are_equal =
        std::all_of(lengths_.begin(), lengths_.end(), [&](int64_t l) { return l == first; });
    position_R_ = are_equal ? at::full({count}, first, ids)  // without a wait for the device
                            : at::tensor(lengths_, at::kLong).to(device);
  }
  return position_R_;
}

FixedKeys::Entry& FixedKeys::room_for(int64_t layer, const at::Tensor& like, int64_t num_rows,
                                      int64_t window) {
  Entry& entry = entries_[static_cast<size_t>(layer)];
  entry.window = window;
  const int64_t places = window > 0 ? std::min(window, capacity_) : capacity_;
  if (!entry.k.defined() || entry.k.size(2) < places) {
    entry.k = enlarged(entry.k, like, num_rows, places);
    entry.v = enlarged(entry.v, like, num_rows, places);
  }
  return entry;
}

const FixedKeys::Masks& FixedKeys::masks(int64_t places, at::Device device) {
  Masks& found = masks_[places];
  if (!found.visible_RS.defined()) {
    const at::Tensor place_S = at::arange(places, at::TensorOptions(at::kLong).device(device));
    const at::Tensor newest_R = position(device);
    found.visible_RS = place_S.le(newest_R.unsqueeze(1));  // all, once the ring is full
    found.used_R = (newest_R + 1).clamp_max(places).to(at::kInt);
  }
  return found;
}

void FixedKeys::count_rows(int64_t num_rows, at::Device device) {
  if (!row_begins_.defined()) {
    row_begins_ = at::arange(num_rows + 1, at::TensorOptions(at::kInt).device(device));
  }
}

FixedReach FixedKeys::store(int64_t layer, const at::Tensor& k, const at::Tensor& v,
                            int64_t window) {
  const at::NoGradGuard no_grad;
  if (layer == 0) forget_step();  // of a step that broke off, as a failed recording does
  const int64_t num_rows = k.size(0);
  Entry& entry = room_for(layer, k, num_rows, window);
  const int64_t places = entry.k.size(2);
  const at::Tensor position_R = position(k.device());
  const at::Tensor place_R = places < capacity_ ? position_R.remainder(places) : position_R;
  const at::Tensor place = place_R.view({num_rows, 1, 1, 1}).expand_as(k);
  entry.k.scatter_(2, place, k);
  entry.v.scatter_(2, place, v);
  count_rows(num_rows, k.device());
  at::Tensor& key_begins = key_begins_[places];
  if (!key_begins.defined()) key_begins = row_begins_ * places;
  const Masks& shared = masks(places, k.device());
  return {entry.k, entry.v, shared.visible_RS, shared.used_R, row_begins_, key_begins};
}

SeenKeys FixedKeys::append_rows(Entry& entry, int64_t first_row, const SeenKeys& fresh) const {
  const int64_t count = fresh.k.size(0), num_new = fresh.k.size(2);
  const int64_t length = lengths_[static_cast<size_t>(first_row)];
  const int64_t places = entry.k.size(2);
  const int64_t kept = entry.window > 0 ? std::min(length, entry.window - 1) : length;
  const auto put = [&](const at::Tensor& memory, const at::Tensor& fresh_part) {
    const at::Tensor own = memory.narrow(0, first_row, count);
    if (length + num_new <= places) {  // nothing is overwritten yet
      own.narrow(2, length, num_new).copy_(fresh_part);
      return own.narrow(2, length - kept, kept + num_new);
    }
    const at::Tensor before =
        own.index_select(2, places_of(length - kept, kept, places, own.device()));
    const int64_t stays = std::min(num_new, places);
    own.index_copy_(2, places_of(length + num_new - stays, stays, places, own.device()),
                    fresh_part.narrow(2, num_new - stays, stays));
    return at::cat({before, fresh_part}, 2);
  };
  const at::Tensor seen_k = put(entry.k, fresh.k);
  return {seen_k, put(entry.v, fresh.v)};
}

std::vector<SeenKeys> FixedKeys::append(int64_t layer, const at::Tensor& k, const at::Tensor& v,
                                        int64_t window) {
  const int64_t longest = *std::max_element(lengths_.begin(), lengths_.end());
  S2S_ASSERT(longest + k.size(2) <= capacity_, "memory is reserved before each step");
  Entry& entry = room_for(layer, k, k.size(0), window);
  const int64_t first = lengths_.front();
  if (std::all_of(lengths_.begin(), lengths_.end(), [&](int64_t l) { return l == first; })) {
    return {append_rows(entry, 0, {k, v})};
  }
  std::vector<SeenKeys> seen;
  for (int64_t row = 0; row < k.size(0); ++row) {
    seen.push_back(append_rows(entry, row, {k.narrow(0, row, 1), v.narrow(0, row, 1)}));
  }
  return seen;
}

void FixedKeys::put(int64_t layer, int64_t row, const SeenKeys& last, int64_t window) {
  const at::NoGradGuard no_grad;
  Entry& entry = room_for(layer, last.k, static_cast<int64_t>(lengths_.size()), window);
  const int64_t places = entry.k.size(2);
  const int64_t stays = std::min(last.k.size(2), places);
  const int64_t begin = lengths_[static_cast<size_t>(row)] - stays;
  const at::Tensor place = places_of(begin, stays, places, last.k.device());
  const int64_t skipped = last.k.size(2) - stays;
  entry.k.narrow(0, row, 1).index_copy_(2, place, last.k.narrow(2, skipped, stays));
  entry.v.narrow(0, row, 1).index_copy_(2, place, last.v.narrow(2, skipped, stays));
}

SeenKeys FixedKeys::row_of(int64_t layer, int64_t row) const {
  const Entry& entry = entries_[static_cast<size_t>(layer)];
  const int64_t length = lengths_[static_cast<size_t>(row)], places = entry.k.size(2);
  const int64_t kept = std::min(length, places);
  const at::Tensor place = places_of(length - kept, kept, places, entry.k.device());
  return {entry.k.narrow(0, row, 1).index_select(2, place),
          entry.v.narrow(0, row, 1).index_select(2, place)};
}

void FixedKeys::copy_row(int64_t from, int64_t to) {
  for (Entry& entry : entries_) {
    if (!entry.k.defined()) continue;
    entry.k.select(0, to).copy_(entry.k.select(0, from));
    entry.v.select(0, to).copy_(entry.v.select(0, from));
  }
}

void FixedKeys::advance(int64_t num_positions) {
  if (position_R_.defined()) position_R_.add_(num_positions);
  forget_step();
}

void FixedKeys::lengths_changed() {
  // In place: a graph reads this memory.
  if (position_R_.defined()) position_R_.copy_(at::tensor(lengths_, at::kLong));
  forget_step();
}

void FixedKeys::clear() {
  entries_.assign(entries_.size(), {});
  capacity_ = 0;
  position_R_.reset();
  row_begins_.reset();
  key_begins_.clear();
  forget_step();
}

}  // namespace s2s
