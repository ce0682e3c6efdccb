// trainer.attention: the rule, and that it reaches LibTorch. The kernels of a GPU are chosen on the
// test device (device_nn_test) and on a GPU; a CPU knows flash and math.

#include "nn/attention_choice.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <doctest/doctest.h>
#include <torch/csrc/autograd/function.h>

#include <cmath>

#include "common/device.h"
#include "nn/decoder/attend.h"

namespace {

using s2s::AttentionBackend;
using s2s::AttentionCall;
using s2s::test::device;

bool is_cpu() { return device().is_cpu(); }
/// The test device pretends kernels that only a GPU has, and computes on the CPU.
bool is_gpu() { return device().is_cuda(); }

struct Wish {
  explicit Wish(AttentionBackend wish) { s2s::set_attention(wish); }
  ~Wish() { s2s::set_attention(AttentionBackend::kAuto); }
};

AttentionCall of_length(int64_t positions) { return {2, 8, 4, positions, 64, at::kBFloat16, 0}; }

/// Queries, keys and values as views of one tensor [B, T, (heads + 2 kv) D], as a decoder whose
/// products are one has them.
struct Packed {
  Packed(int64_t rows, int64_t positions, int64_t head_dim, at::ScalarType type)
      : all(at::randn({rows, positions, (4 + 2 * 2) * head_dim})
                .to(device(), type)
                .set_requires_grad(true)) {
    const auto part = [&](int64_t begin, int64_t heads) {
      return all.narrow(2, begin * head_dim, heads * head_dim)
          .view({rows, positions, heads, head_dim})
          .transpose(1, 2);
    };
    q = part(0, 4);
    k = part(4, 2);
    v = part(6, 2);
  }
  at::Tensor all, q, k, v;
};

std::string node_of(const at::Tensor& y) { return y.grad_fn()->name(); }

constexpr const char* kCudnnNode = "ScaledDotProductCudnnAttentionBackward0";
std::string flash_node() {
  return is_gpu() ? "ScaledDotProductFlashAttentionBackward0"
                  : "ScaledDotProductFlashAttentionForCpuBackward0";
}

at::Tensor attended(const Packed& in, const s2s::AttentionSpec& spec = {}) {
  return s2s::attend(in.q, in.k, in.v, spec);
}

std::vector<std::string> notes(bool warnings) {
  std::vector<std::string> texts;
  for (const s2s::AttentionNote& note : s2s::take_attention_notes()) {
    if (note.is_warning == warnings) texts.push_back(note.text);
  }
  return texts;
}

double worst_of(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

}  // namespace

TEST_CASE("auto gives cuDNN to the first few shapes of a training and flash to further ones") {
  std::vector<AttentionCall> seen;
  const auto choose = [&](const AttentionCall& call) {
    return s2s::choose_attention(AttentionBackend::kAuto, call, seen);
  };
  for (int64_t i = 0; i < 4; ++i) {
    CHECK(choose(of_length(100 + i)) == AttentionBackend::kCudnn);
    seen.push_back(of_length(100 + i));
  }
  CHECK(choose(of_length(200)) == AttentionBackend::kFlash);
  seen.push_back(of_length(200));
  CHECK(choose(of_length(200)) == AttentionBackend::kFlash);
  CHECK(choose(of_length(103)) == AttentionBackend::kCudnn);  // its plan is there
}

TEST_CASE("cuDNN never gets one query, a window, documents or a call without a gradient") {
  AttentionCall one_query = of_length(1), window = of_length(64), eval = of_length(64);
  window.is_dense = false;
  eval.trains = false;
  for (const AttentionCall& call : {one_query, window, eval}) {
    for (const auto wish : {AttentionBackend::kAuto, AttentionBackend::kCudnn}) {
      CHECK(s2s::choose_attention(wish, call, {}) == AttentionBackend::kFlash);
    }
  }
}

TEST_CASE("a named kernel is chosen for every shape of a training") {
  const std::vector<AttentionCall> many(9, of_length(7));
  for (const auto wish :
       {AttentionBackend::kCudnn, AttentionBackend::kFlash, AttentionBackend::kMath}) {
    CHECK(s2s::choose_attention(wish, of_length(64), many) == wish);
    CHECK(s2s::attention_backend(s2s::name_of(wish)) == wish);
  }
  CHECK(s2s::choose_attention(AttentionBackend::kMath, of_length(1), {}) ==
        AttentionBackend::kMath);
}

TEST_CASE("why a kernel cannot take a call is said") {
  AttentionCall call = of_length(64);
  const auto why = [&](AttentionBackend backend) {
    return s2s::attention_obstacle(backend, call, true);
  };
  CHECK(s2s::attention_obstacle(AttentionBackend::kCudnn, call, false) ==
        "this device has no such kernel");
  CHECK(why(AttentionBackend::kCudnn).find("LibTorch does not offer it") == 0);
  call.head_dim = 136;
  CHECK(why(AttentionBackend::kCudnn).find("too large") != std::string::npos);
  CHECK(why(AttentionBackend::kFlash).find("LibTorch does not offer it") == 0);
  call.head_dim = 20;
  CHECK(why(AttentionBackend::kCudnn).find("multiple of 8") != std::string::npos);
  call.head_dim = 64;
  call.dropout = 0.1;
  CHECK(why(AttentionBackend::kCudnn).find("1/16") != std::string::npos);
  call.type = at::kFloat;
  CHECK(why(AttentionBackend::kFlash).find("not in Float") != std::string::npos);
}

TEST_CASE("every choice computes the same attention and gradients, from views of one tensor") {
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    CAPTURE(c10::toString(type));
    std::vector<std::vector<at::Tensor>> results;
    for (const auto wish : {AttentionBackend::kMath, AttentionBackend::kFlash,
                            AttentionBackend::kCudnn, AttentionBackend::kAuto}) {
      const Wish wished(wish);
      at::manual_seed(3);
      const Packed in(2, 17, 16, type);
      const at::Tensor y = attended(in);
      (y * at::randn(y.sizes()).to(y.options())).sum().backward();
      results.push_back({y.detach().cpu(), in.all.grad().cpu()});
    }
    for (size_t i = 1; i < results.size(); ++i) {
      CHECK(worst_of(results[i][0], results[0][0]) < (type == at::kFloat ? 1e-5 : 2e-2));
      CHECK(worst_of(results[i][1], results[0][1]) < (type == at::kFloat ? 1e-5 : 4e-2));
    }
    // But for math, a CPU computes the same bits.
    if (!is_cpu()) continue;
    for (size_t i = 2; i < results.size(); ++i) {
      CHECK(results[i][0].equal(results[1][0]));
      CHECK(results[i][1].equal(results[1][1]));
    }
  }
}

TEST_CASE("math is the plain formula with one query and with windows, too") {
  at::manual_seed(4);
  const at::NoGradGuard no_grad;
  for (const auto& [count, window] : std::vector<std::pair<int64_t, int64_t>>{{1, 0}, {5, 3}}) {
    const at::Tensor q = at::randn({1, 4, count, 16}, device());
    const at::Tensor k = at::randn({1, 2, 9, 16}, device()), v = at::randn_like(k);
    const at::Tensor usual = s2s::attend(q, k, v, {0, 0, window});
    const Wish wished(AttentionBackend::kMath);
    CHECK_FALSE(at::globalContext().userEnabledFlashSDP());
    CHECK(worst_of(s2s::attend(q, k, v, {0, 0, window}), usual) < 1e-5);
  }
  CHECK(at::globalContext().userEnabledFlashSDP());
}

TEST_CASE("a CPU takes the same kernel whatever is named, and says nothing") {
  if (!is_cpu()) return;
  for (const auto wish : {AttentionBackend::kAuto, AttentionBackend::kCudnn}) {
    const Wish wished(wish);
    CHECK(node_of(attended(Packed(1, 8, 16, at::kFloat))) == flash_node());
    REQUIRE(s2s::attention_uses().size() == 1);
    CHECK(s2s::attention_uses()[0].backend == AttentionBackend::kFlash);
    CHECK(s2s::attention_uses()[0].call.text() == "[1, 4, 8, 16]");
    CHECK(s2s::take_attention_notes().empty());
  }
}

TEST_CASE("on a device auto takes cuDNN for four shapes, and the kernel is said once") {
  if (is_cpu()) return;
  const Wish wished(AttentionBackend::kAuto);
  const auto taken = [](int64_t positions) {
    return node_of(attended(Packed(1, positions, 16, at::kBFloat16)));
  };
  for (const int64_t positions : {8, 9, 10, 11, 8}) CHECK(taken(positions) == kCudnnNode);
  CHECK(taken(12) == flash_node());
  CHECK(taken(9) == kCudnnNode);
  CHECK(notes(false) == std::vector<std::string>{"attention: cudnn, [1, 4, 8, 16]",
                                                 "attention: flash, [1, 4, 12, 16]"});
  CHECK_FALSE(at::globalContext().userEnabledCuDNNSDP());  // for nobody else
}

TEST_CASE("on a device autocast's dtype counts") {
  if (is_cpu()) return;
  const Wish wished(AttentionBackend::kAuto);
  at::autocast::set_autocast_dtype(device().type(), at::kBFloat16);
  at::autocast::set_autocast_enabled(device().type(), true);
  const at::Tensor y = attended(Packed(1, 8, 16, at::kFloat));
  at::autocast::set_autocast_enabled(device().type(), false);
  at::autocast::clear_cache();
  CHECK(node_of(y) == kCudnnNode);
  REQUIRE(s2s::attention_uses().size() == 1);
  CHECK(s2s::attention_uses()[0].backend == AttentionBackend::kCudnn);
}

TEST_CASE("on a device a named kernel that cannot take a call gives way with one warning") {
  if (is_cpu()) return;
  const auto warning_of = [](AttentionBackend wish, const Packed& in,
                             const s2s::AttentionSpec& spec = {}) {
    const Wish wished(wish);
    attended(in, spec);
    attended(in, spec);
    const std::vector<std::string> warnings = notes(true);
    REQUIRE(warnings.size() == 1);
    return warnings[0];
  };
  CHECK(warning_of(AttentionBackend::kCudnn, Packed(1, 8, 16, at::kFloat)) ==
        std::string("trainer.attention=cudnn is not used for [1, 4, 8, 16], ") +
            (is_gpu() ? "efficient" : "math") +
            " is: it computes in bfloat16 and float16, not in Float (trainer.precision)");
  CHECK(warning_of(AttentionBackend::kCudnn, Packed(1, 8, 20, at::kBFloat16)) ==
        "trainer.attention=cudnn is not used for [1, 4, 8, 20], flash is: its head size is a "
        "multiple of 8");
  CHECK(
      warning_of(AttentionBackend::kCudnn, Packed(1, 8, 16, at::kBFloat16), {0, 0, 3}) ==
      std::string("trainer.attention=cudnn is not used for attention with a window or a cache, ") +
          (is_gpu() ? "flash" : "math") + " is: it is for causal attention over all keys");
}

TEST_CASE("on the test device cuDNN fails, and is given up") {
  if (is_cpu() || is_gpu()) return;
  const Wish wished(AttentionBackend::kAuto);
  CHECK(node_of(attended(Packed(1, 8, 24, at::kBFloat16))) == flash_node());  // fails there
  CHECK(node_of(attended(Packed(1, 8, 16, at::kBFloat16))) == flash_node());
  const std::vector<std::string> warnings = notes(true);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0] ==
        "cuDNN's attention failed for [1, 4, 8, 24], and is not used from here on: "
        "no valid execution plan");
  CHECK(s2s::attention_uses()[0].backend == AttentionBackend::kFlash);
}
