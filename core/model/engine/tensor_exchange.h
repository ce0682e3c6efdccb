#pragma once
// What the ranks of a tensor axis exchange at the hooks of blocks, with gradients.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "s2s/kinds/communicator.h"

namespace s2s {

/// What happens to an activation [..., T, H]. Positions are padded with zeros to a multiple of the
/// ranks where they are split, and cut to their true number where they are gathered.
enum class Exchange {
  kNothing,
  kSum,       // all-reduce
  kGather,    // of each rank's positions: all-gather
  kSlice,     // this rank's positions, of what all ranks have
  kSumSlice,  // this rank's positions of the sum: reduce-scatter
};

/// One exchange forward, another one backward.
struct ExchangePair {
  Exchange forward = Exchange::kNothing;
  Exchange backward = Exchange::kNothing;
};

/// What enters a split region is the same on all ranks, and each of them has a part of its
/// gradient.
constexpr ExchangePair kEnterSplit = {Exchange::kNothing, Exchange::kSum};
/// What leaves a split region are parts of a sum; the sum's gradient is everybody's.
constexpr ExchangePair kLeaveSplit = {Exchange::kSum, Exchange::kNothing};
/// The same two where positions are split outside of the region.
constexpr ExchangePair kGatherIntoSplit = {Exchange::kGather, Exchange::kSumSlice};
constexpr ExchangePair kScatterFromSplit = {Exchange::kSumSlice, Exchange::kGather};
/// Between whole and split positions, outside of split regions.
constexpr ExchangePair kSlicePositions = {Exchange::kSlice, Exchange::kGather};
constexpr ExchangePair kGatherPositions = {Exchange::kGather, Exchange::kSlice};

/// Positions that each of `num_ranks` ranks holds, padding included.
int64_t positions_per_rank(int64_t length, int64_t num_ranks);

/// Shapes: x [..., T, H]; T of a rank and T of all ranks as the exchange says.
/// length: positions of all ranks, without padding; read where positions are split.
/// name: of the collectives; that of the backward pass has " backward" behind it.
at::Tensor exchange(const at::Tensor& x, const ExchangePair& pair, Communicator& ranks,
                    int64_t length, const std::string& name);

}  // namespace s2s
