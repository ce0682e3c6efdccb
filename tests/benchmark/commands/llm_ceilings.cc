// Shape letters: B rows, T positions, D head size.

#include "benchmark/commands/llm_ceilings.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "base/moment.h"
#include "nn/attention_choice.h"
#include "nn/fused.h"

namespace s2s::run {
namespace {

constexpr double kRunS = 0.05;  // of calls in a row
constexpr int64_t kMostCalls = 50;
constexpr int kRuns = 3;
constexpr double kMostLogitBytes = 2.5e9;  // of the head's product

/// Seconds of one call: the best of some runs of calls in a row.
double seconds_of(at::Device device, const std::function<void()>& call) {
  call();  // what is set up once
  const Moment begin(device);
  call();
  const double estimate_s = std::max(1e-7, Moment(device).since(begin));
  const auto calls = std::clamp<int64_t>(static_cast<int64_t>(kRunS / estimate_s), 1, kMostCalls);
  double best_s = std::numeric_limits<double>::infinity();
  for (int run = 0; run < kRuns; ++run) {
    const Moment start(device);
    for (int64_t i = 0; i < calls; ++i) call();
    best_s = std::min(best_s, Moment(device).since(start) / static_cast<double>(calls));
  }
  return best_s;
}

class CeilingBench {
 public:
  CeilingBench(const LlmSizes& sizes, at::Device device)
      : sizes_(sizes), device_(device), options_(at::TensorOptions(device).dtype(sizes.type)) {}

  double copy_bytes_per_s() const {
    const int64_t bytes = int64_t{1} << (device_.is_cpu() ? 27 : 30);
    const at::Tensor from = at::ones({bytes}, options_.dtype(at::kByte));
    const at::Tensor to = at::empty_like(from);
    return 2 * static_cast<double>(bytes) / seconds_of(device_, [&] { to.copy_(from); });
  }

  int64_t square_size() const { return device_.is_cpu() ? 1024 : 8192; }
  double square_teraflops() const {
    const int64_t n = square_size();
    const at::Tensor a = random({n, n}), b = random({n, n}), c = at::empty({n, n}, options_);
    const double seconds = seconds_of(device_, [&] { at::mm_out(*writable(c), a, b); });
    return 2e-12 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n) /
           seconds;
  }

  /// `per_step`: how often a step has it.
  ProductTimes product(const std::string& name, int64_t inner, int64_t columns,
                       int64_t per_step) const {
    ProductTimes out{name, sizes_.tokens(), inner, columns, per_step, 0, 0, 0};
    const double row_bytes =
        static_cast<double>(columns) * static_cast<double>(c10::elementSize(sizes_.type));
    const auto most_rows = static_cast<int64_t>(kMostLogitBytes / row_bytes);
    const int64_t rows = std::min(out.rows, std::max<int64_t>(1, most_rows));
    const double times = static_cast<double>(out.rows) / static_cast<double>(rows);
    const at::Tensor x = random({rows, inner}), w = random({columns, inner});
    const at::Tensor dy = random({rows, columns}), y = at::empty({rows, columns}, options_);
    const at::Tensor dx = at::empty_like(x), dw = at::empty_like(w);
    const auto seconds = [&](const at::Tensor& result, const at::Tensor& a, const at::Tensor& b) {
      return times * seconds_of(device_, [&] { at::mm_out(*writable(result), a, b); });
    };
    out.forward_s = seconds(y, x, w.t());
    out.input_gradient_s = seconds(dx, dy, w);
    out.weight_gradient_s = seconds(dw, dy.t(), x);
    return out;
  }

  std::vector<ProductTimes> products() const {
    const BackboneShape& s = sizes_.shape;
    const int64_t queries = s.num_attention_heads * s.head_dim;
    const int64_t keys = s.num_key_value_heads * s.head_dim;
    return {product("qkv", s.hidden_size, queries + 2 * keys, s.num_layers),
            product("o", queries, s.hidden_size, s.num_layers),
            product("gate_up", s.hidden_size, 2 * s.intermediate_size, s.num_layers),
            product("down", s.intermediate_size, s.hidden_size, s.num_layers),
            product("head", s.hidden_size, s.vocab_size, 1)};
  }

  /// Forward, and forward and backward, of one layer's causal attention.
  void attention(Ceilings& out) const {
    const BackboneShape& s = sizes_.shape;
    const auto heads = [&](int64_t count) {
      return random({sizes_.rows, count, sizes_.positions, s.head_dim}).set_requires_grad(true);
    };
    const at::Tensor q = heads(s.num_attention_heads), k = heads(s.num_key_value_heads);
    const at::Tensor v = heads(s.num_key_value_heads), dy = random(q.sizes());
    const double scale = 1 / std::sqrt(static_cast<double>(s.head_dim));
    const auto attend_all = [&] { return chosen_attention(q, k, v, /*dropout=*/0, scale); };
    out.attention_forward_s = seconds_of(device_, [&] {
      const at::NoGradGuard no_grad;
      attend_all();
    });
    out.attention_s = seconds_of(device_, [&] {
      torch::autograd::grad({attend_all()}, {q, k, v}, {dy});
    });
  }

  std::vector<PassTimes> passes() const {
    const BackboneShape& s = sizes_.shape;
    const HeadCounts heads = {s.num_attention_heads, s.num_key_value_heads};
    const int64_t n = sizes_.tokens(), turned = heads.num_heads + heads.num_kv_heads;
    const int64_t all = turned + heads.num_kv_heads;  // values are packed, too, and stay
    const at::Tensor weight = at::ones({s.hidden_size}, options_).set_requires_grad(true);
    const at::Tensor angles = at::rand({sizes_.positions, s.head_dim}, options_.dtype(at::kFloat));
    const at::Tensor cos = angles.cos(), sin = angles.sin();
    return {
        pass("rms_norm", {n, s.hidden_size}, {1, 2, 3},
             [&](const at::Tensor& x, const at::Tensor&) {
               return std::vector{rms_norm(x, weight, 1e-5)};
             }),
        pass("rotate", {sizes_.rows, sizes_.positions, all * s.head_dim},
             {1, 2 * static_cast<double>(turned) / static_cast<double>(all), 2},
             [&](const at::Tensor& x, const at::Tensor&) {
               const auto [q, k, v] = rotate_qkv(x, cos, sin, heads);
               return std::vector{q, k, v};
             }),
        pass("swiglu", {n, s.intermediate_size}, {2, 3, 5},
             [](const at::Tensor& x, const at::Tensor& up) { return std::vector{swiglu(x, up)}; })};
  }

 private:
  /// How many tensors of the input's size there are, and are moved in each direction at least.
  struct Moved {
    int inputs;
    double forward, backward;
  };
  using Formula = std::function<std::vector<at::Tensor>(const at::Tensor&, const at::Tensor&)>;

  PassTimes pass(const std::string& name, at::IntArrayRef shape, Moved moved,
                 const Formula& formula) const {
    const at::Tensor x = random(shape).set_requires_grad(true);
    const at::Tensor other = random(shape).set_requires_grad(true);
    const auto bytes = static_cast<double>(x.nbytes());
    PassTimes out{name, moved.forward * bytes, moved.backward * bytes, 0, 0};
    out.forward_s = seconds_of(device_, [&] {
      const at::NoGradGuard no_grad;
      formula(x, other);
    });
    const std::vector<at::Tensor> y = formula(x, other);
    std::vector<at::Tensor> dy;
    for (const at::Tensor& one : y) dy.push_back(random(one.sizes()));
    const std::vector<at::Tensor> inputs =
        moved.inputs == 2 ? std::vector{x, other} : std::vector{x};
    out.backward_s =
        seconds_of(device_, [&] { torch::autograd::grad(y, inputs, dy, /*retain_graph=*/true); });
    return out;
  }

  at::Tensor random(at::IntArrayRef shape) const { return at::randn(shape, options_); }
  static at::Tensor* writable(const at::Tensor& tensor) { return const_cast<at::Tensor*>(&tensor); }

  LlmSizes sizes_;
  at::Device device_;
  at::TensorOptions options_;
};

}  // namespace

LlmWork llm_work(const LlmSizes& sizes) {
  const BackboneShape& s = sizes.shape;
  const int64_t queries = s.num_attention_heads * s.head_dim;
  const int64_t keys = s.num_key_value_heads * s.head_dim;
  const int64_t layer = s.hidden_size * (2 * queries + 2 * keys + 3 * s.intermediate_size);
  const auto weights = static_cast<double>(s.num_layers * layer + s.hidden_size * s.vocab_size);
  const double pairs =
      static_cast<double>(s.num_layers * queries) * static_cast<double>(sizes.positions);  // L H S
  const auto tokens = static_cast<double>(sizes.tokens());
  return {tokens * (6 * weights + 12 * pairs), tokens * (6 * weights + 6 * pairs)};
}

double ProductTimes::teraflops(double seconds) const {
  return 2e-12 * static_cast<double>(rows) * static_cast<double>(inner) *
         static_cast<double>(columns) / seconds;
}

double Ceilings::best_teraflops() const {
  double best = square_teraflops;
  for (const ProductTimes& p : products) {
    for (const double seconds : {p.forward_s, p.input_gradient_s, p.weight_gradient_s}) {
      best = std::max(best, p.teraflops(seconds));
    }
  }
  return best;
}

Ceilings measure_ceilings(const LlmSizes& sizes, at::Device device) {
  const CeilingBench bench(sizes, device);
  Ceilings out;
  out.copy_bytes_per_s = bench.copy_bytes_per_s();
  out.square_size = bench.square_size();
  out.square_teraflops = bench.square_teraflops();
  out.products = bench.products();
  bench.attention(out);
  out.passes = bench.passes();
  out.attainable_s = static_cast<double>(sizes.shape.num_layers) * out.attention_s;
  for (const ProductTimes& product : out.products) {
    out.attainable_s += static_cast<double>(product.per_step) * product.sum_s();
  }
  return out;
}

}  // namespace s2s::run
