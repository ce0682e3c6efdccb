#include "nn/kernels/row_kernels.h"

#include <cmath>
#include <cstring>

#include "base/lanes.h"
#include "nn/kernels/fast_exp.h"

namespace s2s::rows {
namespace {

/// Rounds value to T and back to float.
template <class T>
S2S_BODY float rounded(float value) {
  T out;
  store(value, out);
  return load(out);
}

/// Sums kLanes partial sums. Their number and order are the same on every processor.
S2S_BODY float sum_lanes(const float* lanes) {
  float total = 0;
  for (int64_t j = 0; j < kLanes; ++j) total += lanes[j];
  return total;
}

template <class T>
S2S_BODY void body(const RmsNormRows<T>& job, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    const T* x = job.x + row * job.dim;
    T* y = job.y + row * job.dim;
    float lanes[kLanes] = {};
    int64_t i = 0;
    for (; i + kLanes <= job.dim; i += kLanes) {
      for (int64_t j = 0; j < kLanes; ++j) lanes[j] += load(x[i + j]) * load(x[i + j]);
    }
    float squares = sum_lanes(lanes);
    for (; i < job.dim; ++i) squares += load(x[i]) * load(x[i]);
    const float r = 1.0F / std::sqrt(squares / static_cast<float>(job.dim) + job.eps);
    job.inv_rms[row] = r;
    if (job.adds_one) {
      for (i = 0; i < job.dim; ++i) store(load(x[i]) * r * (1.0F + load(job.weight[i])), y[i]);
    } else {
      for (i = 0; i < job.dim; ++i) store(rounded<T>(load(x[i]) * r) * load(job.weight[i]), y[i]);
    }
  }
}

template <class T>
S2S_BODY void body(const RmsNormGradRows<T>& job, int64_t begin, int64_t end) {
  const float base = job.adds_one ? 1.0F : 0.0F;
  for (int64_t row = begin; row < end; ++row) {
    const T* dy = job.dy + row * job.dim;
    const T* x = job.x + row * job.dim;
    T* dx = job.dx + row * job.dim;
    const float r = job.inv_rms[row];
    float lanes[kLanes] = {};
    int64_t i = 0;
    for (; i + kLanes <= job.dim; i += kLanes) {
      for (int64_t j = 0; j < kLanes; ++j) {
        lanes[j] += load(dy[i + j]) * (base + load(job.weight[i + j])) * load(x[i + j]);
      }
    }
    float dot = sum_lanes(lanes);
    for (; i < job.dim; ++i) dot += load(dy[i]) * (base + load(job.weight[i])) * load(x[i]);
    const float pull = dot * r * r * r / static_cast<float>(job.dim);
    for (i = 0; i < job.dim; ++i) {
      const float grad = load(dy[i]);
      job.weight_grad[i] += grad * load(x[i]) * r;
      store(grad * (base + load(job.weight[i])) * r - load(x[i]) * pull, dx[i]);
    }
  }
}

/// Both activations are x * sigmoid(z), since (1 + tanh(a)) / 2 = sigmoid(2 a). Returns z.
S2S_BODY float z_of(Silu, float x) { return x; }
S2S_BODY float slope_of(Silu, float) { return 1.0F; }

/// a = sqrt(2 / pi) (x + 0.044715 x^3).  Source: Hendrycks and Gimpel 2016, arXiv 1606.08415.
constexpr float kTwiceRoot = 1.5957691216057308F;  // 2 sqrt(2 / pi)
constexpr float kCubic = 0.044715F;
S2S_BODY float z_of(GeluTanh, float x) { return kTwiceRoot * (x + kCubic * x * x * x); }
S2S_BODY float slope_of(GeluTanh, float x) { return kTwiceRoot * (1.0F + 3 * kCubic * x * x); }

template <class T, class Gate>
S2S_BODY void body(const GatedRows<T, Gate>& job, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    const float gate = load(job.gate[i]);
    store(gate / (1.0F + exp_of(-z_of(Gate{}, gate))) * load(job.up[i]), job.y[i]);
  }
}

template <class T, class Gate>
S2S_BODY void body(const GatedGradRows<T, Gate>& job, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    const float gate = load(job.gate[i]);
    const float dy = load(job.dy[i]);
    const float sigmoid = 1.0F / (1.0F + exp_of(-z_of(Gate{}, gate)));
    const float active = gate * sigmoid;
    const float bend = active * (1.0F - sigmoid) * slope_of(Gate{}, gate);
    store(dy * load(job.up[i]) * (sigmoid + bend), job.d_gate[i]);
    store(dy * active, job.d_up[i]);
  }
}

S2S_BODY void body(const EluRows& job, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    const float x = job.x[i], bent = expm1_of(x < 0.0F ? x : 0.0F);
    job.y[i] = x > 0.0F ? x : bent;
  }
}

template <class T>
S2S_BODY void body(const RotaryRows<T>& job, int64_t begin, int64_t end) {
  const int64_t half = job.dim / 2;
  for (int64_t row = begin; row < end; ++row) {
    const float* cos = job.cos + row % job.frames * job.dim;
    const float* sin = job.sin + row % job.frames * job.dim;
    for (int64_t head = 0; head < job.heads; ++head) {
      const T* x = job.x + (row * job.heads + head) * job.dim;
      T* y = job.y + (row * job.heads + head) * job.dim;
      for (int64_t j = 0; j < half; ++j) {
        const float first = load(x[j]);
        const float second = load(x[j + half]);
        store(first * cos[j] - second * sin[j] * job.sign, y[j]);
        store(second * cos[j] + first * sin[j] * job.sign, y[j + half]);
      }
    }
  }
}

struct RowBody {
  template <class Job>
  static S2S_BODY void run(const Job& job, int64_t begin, int64_t end) {
    body(job, begin, end);
  }
};

}  // namespace

template <class T>
void run(const RmsNormRows<T>& job, int64_t begin, int64_t end) {
  run_best<RowBody>(job, begin, end);
}
template <class T>
void run(const RmsNormGradRows<T>& job, int64_t begin, int64_t end) {
  run_best<RowBody>(job, begin, end);
}
template <class T, class Gate>
void run(const GatedRows<T, Gate>& job, int64_t begin, int64_t end) {
  run_best<RowBody>(job, begin, end);
}
template <class T, class Gate>
void run(const GatedGradRows<T, Gate>& job, int64_t begin, int64_t end) {
  run_best<RowBody>(job, begin, end);
}
void run(const EluRows& job, int64_t begin, int64_t end) { run_best<RowBody>(job, begin, end); }
template <class T>
void run(const RotaryRows<T>& job, int64_t begin, int64_t end) {
  run_best<RowBody>(job, begin, end);
}

#define S2S_INSTANTIATE(Job)                                     \
  template void run<float>(const Job<float>&, int64_t, int64_t); \
  template void run<c10::BFloat16>(const Job<c10::BFloat16>&, int64_t, int64_t)
S2S_INSTANTIATE(RmsNormRows);
S2S_INSTANTIATE(RmsNormGradRows);
S2S_INSTANTIATE(RotaryRows);
#undef S2S_INSTANTIATE
#define S2S_INSTANTIATE(T, Gate)                                            \
  template void run(const GatedRows<T, Gate>&, int64_t begin, int64_t end); \
  template void run(const GatedGradRows<T, Gate>&, int64_t begin, int64_t end)
S2S_INSTANTIATE(float, Silu);
S2S_INSTANTIATE(float, GeluTanh);
S2S_INSTANTIATE(c10::BFloat16, Silu);
S2S_INSTANTIATE(c10::BFloat16, GeluTanh);
#undef S2S_INSTANTIATE

}  // namespace s2s::rows
