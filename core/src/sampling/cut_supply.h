#pragma once
// Where a SimpleCutSampler takes its cuts from, and puts the last one back.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sampling/sampler_parts.h"
#include "stream/numpy_random.h"

namespace s2s::data {

/// Source: lhotse dataset/sampling/data_source.py.
class CutSupply {
 public:
  CutSupply() = default;
  CutSupply(const CutSupply&) = delete;
  CutSupply& operator=(const CutSupply&) = delete;
  virtual ~CutSupply() = default;
  virtual std::optional<SizedItem> next() = 0;
  /// The item comes next again.
  virtual void take_back(SizedItem item) = 0;
  virtual void rewind(int64_t epoch) = 0;
  virtual StreamState state() const = 0;
  virtual void restore(const StreamState& state) = 0;
  /// Sum of the lengths that are left; of eager supplies.
  virtual double remaining_length() const { return 0; }
};

using SupplyPtr = std::unique_ptr<CutSupply>;

/// The stream's own order; a cut that is taken back waits beside it.
SupplyPtr lazy_supply(std::shared_ptr<SizedStream> stream);

/// All cuts of a stream; what the filter refuses, too.
std::vector<SizedItem> all_items(SizedStream& stream);

/// Cuts that are held, in their order, or shuffled by seed + epoch.
SupplyPtr eager_supply(std::vector<SizedItem> items, std::optional<int64_t> shuffle_seed);

/// Cuts that are held, drawn by weight without replacement.   Errors: [data/weights].
SupplyPtr weighted_supply(std::vector<SizedItem> items, const WeightedOptions& options);

}  // namespace s2s::data
