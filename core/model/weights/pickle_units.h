#pragma once
// A limit on the memory of the values of one pickle: a value of one byte takes many.

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "base/reading_budget.h"
#include "weights/pickle.h"
#include "weights/weights_errors.h"

namespace s2s {

/// Counts in units of 16 bytes. A tensor of torch.save has 130 units in 110 bytes and more, a piece
/// in a `.metadata` 120 in 80 bytes.
class PickleUnits {
 public:
  static constexpr size_t kUnitBytes = 16;
  static constexpr size_t kMost = 60'000'000;
  static constexpr size_t kAny = 1'000'000;
  static constexpr size_t kPerByte = 2;
  static constexpr size_t kValue = 3;  // with its place on the stack or in a container
  static constexpr size_t kBody = 6;
  static constexpr size_t kTensor = 9;

  PickleUnits(ReadingBudget& budget, size_t pickle_bytes)
      : budget_(budget),
        pickle_bytes_(pickle_bytes),
        most_(std::min(kMost, kAny + kPerByte * pickle_bytes)) {
    budget.admit(pickle_bytes);
  }

  /// Errors: [weights/format] above the limit, [io/too-much].
  void take(size_t units) {
    taken_ += units;
    if (taken_ > most_) {
      throw weights_errors::torch_format(
          budget_.path(),
          fmt::format("the values in its pickle of {} bytes take more than {} bytes", pickle_bytes_,
                      most_ * kUnitBytes));
    }
    budget_.take_values(units / kValue);
  }
  /// A new value.
  void take(const PickleValue& value) {
    size_t units = kValue;
    if (value.body) {
      units += kBody + value.items().size() + value.text().size() / kUnitBytes;
      if (value.body->tensor) units += kTensor + value.tensor().sizes.size();
    }
    take(units);
  }
  /// Items that are added to a value.
  void take_items(const PickleValue& container, size_t num_items) {
    take(num_items + (container.body || num_items == 0 ? 0 : kBody));
  }

 private:
  ReadingBudget& budget_;
  size_t pickle_bytes_;
  size_t most_, taken_ = 0;
};

}  // namespace s2s
