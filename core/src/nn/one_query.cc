#include "nn/one_query.h"

#include <algorithm>
#include <vector>

#include "nn/fast_exp.h"
#include "nn/lanes.h"

namespace s2s::rows {
namespace {

/// Scores of one query head, then their exponentials; returns their sum.
S2S_BODY float weigh(const OneQuery& job, const float* q, const float* keys, float* weights) {
  float largest = -3.4e38F;
  for (int64_t t = 0; t < job.positions; ++t, keys += job.dim) {
    Lanes sum{};
    for (int64_t d = 0; d < job.dim; d += kLanes) sum += load_lanes(q + d) * load_lanes(keys + d);
    weights[t] = total(sum) * job.scale;
    largest = std::max(largest, weights[t]);
  }
  float sum = 0;
  for (int64_t t = 0; t < job.positions; ++t) {
    weights[t] = exp_of(weights[t] - largest);
  }
  for (int64_t t = 0; t < job.positions; ++t) sum += weights[t];
  return sum;
}

S2S_BODY void answer(const OneQuery& job, const float* weights, float sum, const float* values,
                     float* y) {
  Lanes sums[kMostDim / kLanes] = {};
  for (int64_t t = 0; t < job.positions; ++t, values += job.dim) {
    for (int64_t d = 0; d < job.dim; d += kLanes) {
      sums[d / kLanes] += load_lanes(values + d) * weights[t];
    }
  }
  for (int64_t d = 0; d < job.dim; d += kLanes) store_lanes(sums[d / kLanes] / sum, y + d);
}

struct Body {
  static S2S_BODY void run(const OneQuery& job, int64_t begin, int64_t end) {
    std::vector<float> weights(static_cast<size_t>(job.positions));
    for (int64_t i = begin; i < end; ++i) {
      const int64_t place = i / job.kv_heads * job.row_stride + i % job.kv_heads * job.head_stride;
      for (int64_t h = 0; h < job.shared; ++h) {
        const int64_t head = (i * job.shared + h) * job.dim;
        const float sum = weigh(job, job.q + head, job.k + place, weights.data());
        answer(job, weights.data(), sum, job.v + place, job.y + head);
      }
    }
  }
};

}  // namespace

void run(const OneQuery& job, int64_t begin, int64_t end) { run_best<Body>(job, begin, end); }

}  // namespace s2s::rows
