#pragma once
// Collectives between the ranks of a tensor axis at the hooks of blocks, with gradients.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "s2s/kinds/communicator.h"

namespace s2s {

/// The exchange of an activation [..., T, H]. Split positions are padded with zeros to a multiple
/// of the number of ranks. The padding is removed when they are gathered.
enum class Exchange {
  kNothing,
  kSum,       // all-reduce
  kGather,    // all-gather of each rank's positions
  kSlice,     // this rank's positions of a full activation
  kSumSlice,  // reduce-scatter: this rank's positions of the sum
};

struct ExchangePair {
  Exchange forward = Exchange::kNothing;
  Exchange backward = Exchange::kNothing;
};

/// For the input of a split region. It is the same on all ranks; each computes a partial gradient.
constexpr ExchangePair kEnterSplit = {Exchange::kNothing, Exchange::kSum};
/// For the output of a split region. Each rank has a partial sum, and the gradient of the sum is
/// the same on all ranks.
constexpr ExchangePair kLeaveSplit = {Exchange::kSum, Exchange::kNothing};
/// The same two when positions are split outside of the region.
constexpr ExchangePair kGatherIntoSplit = {Exchange::kGather, Exchange::kSumSlice};
constexpr ExchangePair kScatterFromSplit = {Exchange::kSumSlice, Exchange::kGather};
/// Between full and split positions, outside of split regions.
constexpr ExchangePair kSlicePositions = {Exchange::kSlice, Exchange::kGather};
constexpr ExchangePair kGatherPositions = {Exchange::kGather, Exchange::kSlice};

/// Returns the positions per rank, including padding.
int64_t positions_per_rank(int64_t length, int64_t num_ranks);

/// Shapes: x [..., T, H]. T: positions of one rank or of all ranks, depending on the exchange.
/// length: positions of all ranks, without padding. Used when positions are split.
/// name: name of the collectives. In the backward pass " backward" is appended.
at::Tensor exchange(const at::Tensor& x, const ExchangePair& pair, Communicator& ranks,
                    int64_t length, const std::string& name);

}  // namespace s2s
