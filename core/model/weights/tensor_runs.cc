#include "weights/tensor_runs.h"

#include <algorithm>

#include "s2s/error.h"

namespace s2s {
namespace {

/// Removes empty spans and merges adjacent ones.
std::vector<TensorSpan> merged(const std::vector<TensorSpan>& spans) {
  std::vector<TensorSpan> out;
  for (const TensorSpan& span : spans) {
    if (span.count == 0) continue;
    if (!out.empty() && out.back().begin + out.back().count == span.begin) {
      out.back().count += span.count;
    } else {
      out.push_back(span);
    }
  }
  return out;
}

/// Returns true when `span` continues the run. The second span determines the stride.
bool continues(SpanRun& run, const TensorSpan& span) {
  if (run.count != span.count) return false;
  if (run.repeat == 1) run.stride = span.begin - run.begin;
  return run.stride > 0 && run.begin + run.repeat * run.stride == span.begin;
}

}  // namespace

std::vector<SpanRun> to_runs(const std::vector<TensorSpan>& spans) {
  std::vector<SpanRun> runs;
  for (const TensorSpan& span : merged(spans)) {
    if (!runs.empty() && continues(runs.back(), span)) {
      ++runs.back().repeat;
    } else {
      if (!runs.empty() && runs.back().repeat == 1) runs.back().stride = 0;
      runs.push_back({span.begin, span.count, 0, 1});
    }
  }
  return runs;
}

std::vector<TensorSpan> to_spans(const std::vector<SpanRun>& runs) {
  std::vector<TensorSpan> spans;
  for (const SpanRun& run : runs) {
    for (int64_t i = 0; i < run.repeat; ++i) {
      spans.push_back({run.begin + i * run.stride, run.count});
    }
  }
  return spans;
}

int64_t count_elements(const std::vector<TensorSpan>& spans) {
  int64_t count = 0;
  for (const TensorSpan& span : spans) count += span.count;
  return count;
}

int64_t count_elements(const std::vector<SpanRun>& runs) {
  int64_t count = 0;
  for (const SpanRun& run : runs) count += run.count * run.repeat;
  return count;
}

bool fits(const std::vector<SpanRun>& runs, int64_t numel) {
  int64_t total = 0;
  for (const SpanRun& run : runs) {
    int64_t elements = 0, last = 0;
    if (run.begin < 0 || run.count <= 0 || run.repeat < 1 || run.stride < 0) return false;
    if (run.begin > numel || run.count > numel) return false;
    if (__builtin_mul_overflow(run.count, run.repeat, &elements) || elements > numel - total) {
      return false;
    }
    if (__builtin_mul_overflow(run.stride, run.repeat - 1, &last) || last > numel) return false;
    if (run.begin > numel - run.count - last) return false;
    total += elements;
  }
  return true;
}

int64_t element_at(const std::vector<TensorSpan>& spans, int64_t i) {
  for (const TensorSpan& span : spans) {
    if (i < span.count) return span.begin + i;
    i -= span.count;
  }
  S2S_ASSERT(false, "a part has as many elements as its spans");
}

std::vector<int64_t> coordinates(const std::vector<int64_t>& sizes, int64_t number) {
  std::vector<int64_t> index(sizes.size());
  for (size_t dim = sizes.size(); dim-- > 0;) {
    index[dim] = number % sizes[dim];
    number /= sizes[dim];
  }
  return index;
}

int64_t count_elements(const std::vector<int64_t>& sizes) {
  const std::optional<int64_t> count = try_count_elements(sizes);
  S2S_ASSERT(count.has_value(), "sizes are checked where they are read");
  return *count;
}

std::optional<int64_t> try_count_elements(const std::vector<int64_t>& sizes) {
  int64_t count = 1;
  bool is_empty = false;
  for (const int64_t size : sizes) {
    if (size < 0) return std::nullopt;
    is_empty = is_empty || size == 0;
    if (__builtin_mul_overflow(count, std::max<int64_t>(size, 1), &count)) return std::nullopt;
  }
  return is_empty ? 0 : count;
}

}  // namespace s2s
