#pragma once
// Keys and values in memory of a fixed size, for decoding on a device. The device counts the
// positions itself, and a new position sees all memory under a mask. So each step launches the same
// work: nothing grows, no plan is built for a width, and a graph can repeat it. Shape letters: B
// batch, S positions of memory, D head_dim.

#include <ATen/core/Tensor.h>

#include <map>
#include <utility>
#include <vector>

namespace s2s {

/// What a new position sees: its own place in the memory, and the places before it.
struct FixedReach {
  at::Tensor keys, values;  // [B, kv heads, S, D], all memory; zeros where nothing was written
  at::Tensor visible_S;     // bool
  // The same as kernels for rows of several lengths take it, int32: written places of each row, and
  // where rows begin when queries, or all places, lie one after the other.
  at::Tensor used_B, query_begins, key_begins;  // the last two [B + 1]
};

class FixedKeys {
 public:
  explicit FixedKeys(int64_t num_layers) : entries_(static_cast<size_t>(num_layers)) {}

  /// Makes room for at least `positions`. Memory is doubled at the next step, and what it has is
  /// kept.
  void reserve(int64_t positions);
  int64_t capacity() const { return capacity_; }
  /// [1] int64 on the device: the place of the next position.
  const at::Tensor& position(at::Device device);

  /// Writes k, v [B, kv heads, 1, D] of one layer at `position`. With window > 0, only the last
  /// `window` places are visible.
  FixedReach store(int64_t layer, const at::Tensor& k, const at::Tensor& v, int64_t window);
  /// Writes k, v [B, kv heads, T, D] after `length` positions. Returns views of everything so far,
  /// or of the last window - 1 positions and the new ones.
  std::pair<at::Tensor, at::Tensor> append(int64_t layer, const at::Tensor& k, const at::Tensor& v,
                                           int64_t window, int64_t length);
  void advance(int64_t num_positions);
  void clear();

 private:
  struct Entry {
    at::Tensor k, v;
  };
  Entry& room_for(int64_t layer, const at::Tensor& like);
  const at::Tensor& visible(int64_t window, at::Device device);
  void count_rows(int64_t batch_size, at::Device device);
  void forget_step();

  std::vector<Entry> entries_;
  int64_t capacity_ = 0;
  int64_t length_ = 0;                     // for `position`, until the device counts
  at::Tensor position_1_;                  // int64
  std::map<int64_t, at::Tensor> visible_;  // of this step, by window
  at::Tensor used_B_;                      // of this step
  at::Tensor query_begins_, key_begins_;   // of this capacity
};

}  // namespace s2s
