#pragma once
// A compact form of spans of a flattened tensor. The columns that a rank stores of a row-wise
// sharded weight are one run.

#include <cstdint>
#include <optional>
#include <vector>

#include "s2s/parallel/local_shard.h"

namespace s2s {

/// `repeat` spans of `count` elements, `stride` elements apart.
struct SpanRun {
  int64_t begin = 0;
  int64_t count = 0;
  int64_t stride = 0;
  int64_t repeat = 1;
};

/// Returns the same elements in the same order. Adjacent spans are merged.
std::vector<SpanRun> to_runs(const std::vector<TensorSpan>& spans);
std::vector<TensorSpan> to_spans(const std::vector<SpanRun>& runs);
int64_t count_elements(const std::vector<TensorSpan>& spans);
/// Returns the number of elements of runs that fit a tensor.
int64_t count_elements(const std::vector<SpanRun>& runs);
/// Returns false for runs that exceed a tensor of `numel` elements, or that repeat elements more
/// often than possible.
bool fits(const std::vector<SpanRun>& runs, int64_t numel);

/// Returns the index in the full tensor of the i-th element of some spans.
int64_t element_at(const std::vector<TensorSpan>& spans, int64_t i);
/// Returns the coordinates of an element, given its index in the flattened tensor.
std::vector<int64_t> coordinates(const std::vector<int64_t>& sizes, int64_t number);
/// Returns the number of elements of validated sizes.
int64_t count_elements(const std::vector<int64_t>& sizes);
/// The number of elements of sizes from an untrusted source. Returns nothing if a size is negative
/// or the product exceeds 63 bits. Zeros count as ones in this check, so that strides fit, too.
std::optional<int64_t> try_count_elements(const std::vector<int64_t>& sizes);

}  // namespace s2s
