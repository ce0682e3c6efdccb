#pragma once
// Spans of a flattened tensor, written short: what a rank holds of a row-wise cut is one run.

#include <cstdint>
#include <optional>
#include <vector>

#include "s2s/parallel/local_shard.h"

namespace s2s {

/// `repeat` spans of `count` elements; each begins `stride` after the one before.
struct SpanRun {
  int64_t begin = 0;
  int64_t count = 0;
  int64_t stride = 0;
  int64_t repeat = 1;
};

/// The same elements in the same order; spans that follow each other become one.
std::vector<SpanRun> to_runs(const std::vector<TensorSpan>& spans);
std::vector<TensorSpan> to_spans(const std::vector<SpanRun>& runs);
int64_t count_elements(const std::vector<TensorSpan>& spans);
/// Elements of runs that fit some tensor.
int64_t count_elements(const std::vector<SpanRun>& runs);
/// False for runs that leave a tensor of `numel` elements, or that name some too often to be true.
bool fits(const std::vector<SpanRun>& runs, int64_t numel);

/// The place in the whole tensor of the i-th number of some spans.
int64_t element_at(const std::vector<TensorSpan>& spans, int64_t i);
/// Coordinates of a number of the flattened tensor.
std::vector<int64_t> coordinates(const std::vector<int64_t>& sizes, int64_t number);
/// Elements of a tensor of these sizes, which were checked where they were read.
int64_t count_elements(const std::vector<int64_t>& sizes);
/// The same of sizes that somebody else wrote: nothing where one is below 0 or the product (zeros
/// taken for ones, so that strides fit, too) needs more than 63 bits.
std::optional<int64_t> try_count_elements(const std::vector<int64_t>& sizes);

}  // namespace s2s
