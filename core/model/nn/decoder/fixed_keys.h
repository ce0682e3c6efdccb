#pragma once
// Keys and values in memory of a fixed size, for decoding on a device. The device counts the
// positions itself, and a new position sees all memory under a mask. So each step launches the same
// work: nothing grows, no plan is built for a width, and a graph can repeat it, also after rows
// have been emptied. A layer with a window has a ring of as many places: a new position overwrites
// the oldest one. Shape letters: R rows, S places of a layer's memory, D head_dim.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <vector>

#include "s2s/nn/sequence_state.h"

namespace s2s {

/// What a new position sees: its own place in the memory, and the places before it.
struct FixedReach {
  at::Tensor keys, values;  // [R, kv heads, S, D], all memory; zeros where nothing was written
  at::Tensor visible_RS;    // bool
  // The same as kernels for rows of several lengths take it, int32: written places of each row, and
  // where rows begin when queries, or all places, lie one after the other.
  at::Tensor used_R, query_begins, key_begins;  // the last two [R + 1]
};

class FixedKeys {
 public:
  /// `lengths`: positions of each row, which the owner counts. It must outlive this object.
  FixedKeys(int64_t num_layers, const std::vector<int64_t>& lengths);

  /// Makes room for at least `positions`. Memory is doubled at the next step, and what it has is
  /// kept.
  void reserve(int64_t positions);
  int64_t capacity() const { return capacity_; }
  /// [R] int64 on the device: the position of each row's next column.
  const at::Tensor& position(at::Device device);

  /// Writes k, v [R, kv heads, 1, D] of one layer at `position`. With window > 0, only the last
  /// `window` positions are visible.
  FixedReach store(int64_t layer, const at::Tensor& k, const at::Tensor& v, int64_t window);
  /// SequenceState::append for all rows and any number of columns.
  std::vector<SeenKeys> append(int64_t layer, const at::Tensor& k, const at::Tensor& v,
                               int64_t window);
  /// Writes the last positions of one row, [1, kv heads, used, D], of a state with `lengths`.
  void put(int64_t layer, int64_t row, const SeenKeys& last, int64_t window);
  /// The reverse of `put`: a copy of the positions of a row that are still there.
  SeenKeys row_of(int64_t layer, int64_t row) const;
  bool has(int64_t layer) const { return entries_[static_cast<size_t>(layer)].k.defined(); }
  int64_t window_of(int64_t layer) const { return entries_[static_cast<size_t>(layer)].window; }
  void copy_row(int64_t from, int64_t to);

  void advance(int64_t num_positions);
  /// After the owner has changed `lengths` otherwise.
  void lengths_changed();
  void clear();

 private:
  struct Entry {
    at::Tensor k, v;
    int64_t window = 0;
  };
  /// What the layers with equally many places share in a step.
  struct Masks {
    at::Tensor visible_RS, used_R;
  };
  Entry& room_for(int64_t layer, const at::Tensor& like, int64_t num_rows, int64_t window);
  const Masks& masks(int64_t places, at::Device device);
  void count_rows(int64_t num_rows, at::Device device);
  SeenKeys append_rows(Entry& entry, int64_t first_row, const SeenKeys& fresh) const;
  void forget_step() { masks_.clear(); }

  std::vector<Entry> entries_;
  const std::vector<int64_t>& lengths_;
  int64_t capacity_ = 0;
  at::Tensor position_R_;                     // int64
  std::map<int64_t, Masks> masks_;            // of this step, by places
  at::Tensor row_begins_;                     // [R + 1] int32: 0, 1, 2, ...
  std::map<int64_t, at::Tensor> key_begins_;  // by places
};

}  // namespace s2s
