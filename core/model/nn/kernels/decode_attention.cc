#include "nn/kernels/decode_attention.h"

#include <algorithm>
#include <vector>

#include "base/lanes.h"
#include "nn/kernels/fast_exp.h"

namespace s2s::rows {
namespace {

/// Dot products of one query head with the keys of kCount positions.
template <class In, int64_t kCount, class T>
S2S_BODY void compare(const OneQuery<T>& job, const T* q, const T* keys,
                      typename In::Type (&sums)[kCount]) {
  for (int64_t d = 0; d < job.dim; d += Wide<T, In>::kElements) {
    const Wide<T, In> asked = load_wide<In>(q + d);
    for (int64_t i = 0; i < kCount; ++i) {
      const Wide<T, In> key = load_wide<In>(keys + i * job.dim + d);
      for (int part = 0; part < Wide<T, In>::kParts; ++part) {
        sums[i] += asked.parts[part] * key.parts[part];
      }
    }
  }
}

/// cap * tanh(score / cap), from tanh(a) = 1 - 2 / (1 + exp(2 a)).
S2S_BODY float capped(float score, float cap) {
  return cap - 2 * cap / (1.0F + exp_of(2 * score / cap));
}

/// Computes the scores of one query head and their exponentials. Returns their sum.
template <class In, class T>
S2S_BODY float weigh(const OneQuery<T>& job, const T* q, const T* keys, float* weights) {
  int64_t t = 0;
  for (; t + 4 <= job.positions; t += 4) {
    typename In::Type sums[4] = {};
    compare<In>(job, q, keys + t * job.dim, sums);
    const QuadLanes scores = totals(sums) * job.scale;
    std::memcpy(weights + t, &scores, sizeof scores);
  }
  for (; t < job.positions; ++t) {
    typename In::Type sums[1] = {};
    compare<In>(job, q, keys + t * job.dim, sums);
    weights[t] = total(sums[0]) * job.scale;
  }
  if (job.soft_cap > 0) {
    for (t = 0; t < job.positions; ++t) weights[t] = capped(weights[t], job.soft_cap);
  }
  const float largest = *std::max_element(weights, weights + job.positions);
  float sum = 0;
  for (t = 0; t < job.positions; ++t) weights[t] = exp_of(weights[t] - largest);
  for (t = 0; t < job.positions; ++t) sum += weights[t];
  return sum;
}

template <class In, class T>
S2S_BODY void answer(const OneQuery<T>& job, const float* weights, float sum, const T* values,
                     T* y) {
  constexpr int64_t kStep = Wide<T, In>::kElements;
  Wide<T, In> sums[kMostDim / kStep] = {};
  for (int64_t t = 0; t < job.positions; ++t, values += job.dim) {
    for (int64_t d = 0; d < job.dim; d += kStep) {
      const Wide<T, In> value = load_wide<In>(values + d);
      for (int part = 0; part < Wide<T, In>::kParts; ++part) {
        sums[d / kStep].parts[part] += value.parts[part] * weights[t];
      }
    }
  }
  for (int64_t d = 0; d < job.dim; d += kStep) {
    Wide<T, In>& mean = sums[d / kStep];
    for (int part = 0; part < Wide<T, In>::kParts; ++part) mean.parts[part] /= sum;
    store_wide(mean, y + d);
  }
}

template <class In>
struct OneQueryBody {
  template <class T>
  static S2S_BODY void run(const OneQuery<T>& job, int64_t begin, int64_t end) {
    std::vector<float> weights(static_cast<size_t>(job.positions));
    for (int64_t i = begin; i < end; ++i) {
      const int64_t place = i / job.kv_heads * job.row_stride + i % job.kv_heads * job.head_stride;
      for (int64_t h = 0; h < job.shared; ++h) {
        const int64_t head = (i * job.shared + h) * job.dim;
        const float sum = weigh<In>(job, job.q + head, job.k + place, weights.data());
        answer<In>(job, weights.data(), sum, job.v + place, job.y + head);
      }
    }
  }
};

}  // namespace

template <class T>
void run(const OneQuery<T>& job, int64_t begin, int64_t end) {
  run_best<OneQueryBody<InLanes>, OneQueryBody<InPairs>>(job, begin, end);
}

template void run(const OneQuery<float>&, int64_t, int64_t);
template void run(const OneQuery<c10::BFloat16>&, int64_t, int64_t);

}  // namespace s2s::rows
