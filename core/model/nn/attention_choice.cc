#include "nn/attention_choice.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <set>
#include <utility>

#include "nn/operators.h"

namespace s2s {
namespace {

using Backend = AttentionBackend;

constexpr std::array<std::pair<Backend, const char*>, 5> kNames = {
    {{Backend::kAuto, "auto"},
     {Backend::kCudnn, "cudnn"},
     {Backend::kFlash, "flash"},
     {Backend::kEfficient, "efficient"},
     {Backend::kMath, "math"}}};

/// A run whose shapes vary adds no more than these.
constexpr size_t kMostKept = 16;

/// What the process has chosen and seen. Several threads may compute.
struct Choices {
  std::mutex mutex;
  Backend wish = Backend::kAuto;
  bool cudnn_has_failed = false;
  std::vector<AttentionCall> seen;  // at most kMostKept
  std::vector<AttentionUse> uses;
  std::vector<AttentionNote> notes;
  std::set<std::string> reasons;

  /// Keeps a note, the first one of its `reason`.
  void note(bool is_warning, const std::string& reason, const std::string& text) {
    if (reasons.insert(reason).second) notes.push_back({is_warning, text});
  }
};

Choices& choices() {
  static Choices all;
  return all;
}

/// cuDNN's attention is allowed only while one of these lives, so that no other attention of the
/// process gets it.
class CudnnAllowed {
 public:
  CudnnAllowed() { at::globalContext().setSDPUseCuDNN(true); }
  ~CudnnAllowed() { at::globalContext().setSDPUseCuDNN(false); }
  CudnnAllowed(const CudnnAllowed&) = delete;
  CudnnAllowed& operator=(const CudnnAllowed&) = delete;
};

struct Inputs {
  const at::Tensor &q, &k, &v;
  double dropout, scale;
  bool is_grouped() const { return k.size(1) != q.size(1); }
  at::Tensor run() const {
    return at::scaled_dot_product_attention(q, k, v, {}, dropout, /*is_causal=*/true, scale,
                                            is_grouped());
  }
};

/// The dtype that LibTorch's attention gets: autocast rounds its inputs.
at::ScalarType computed_type(const at::Tensor& q) {
  const at::DeviceType device = q.device().type();
  return at::autocast::is_autocast_enabled(device) ? at::autocast::get_autocast_dtype(device)
                                                   : q.scalar_type();
}

Backend backend_of(int64_t choice) {
  switch (static_cast<at::SDPBackend>(choice)) {
    case at::SDPBackend::cudnn_attention:
      return Backend::kCudnn;
    case at::SDPBackend::flash_attention:
      return Backend::kFlash;
    case at::SDPBackend::efficient_attention:
      return Backend::kEfficient;
    default:
      return Backend::kMath;
  }
}

bool has_aten_kernel(const char* name, const at::Tensor& q) {
  return is_implemented(c10::Dispatcher::singleton().findSchemaOrThrow(name, ""), q);
}

/// Asks LibTorch what it takes for these inputs, with its switches as they are now.
Backend libtorch_takes(const Inputs& in) {
  if (!has_aten_kernel("aten::_fused_sdp_choice", in.q)) return Backend::kMath;
  const at::ScalarType type = computed_type(in.q);
  return backend_of(at::_fused_sdp_choice(in.q.to(type), in.k.to(type), in.v.to(type), {},
                                          in.dropout, /*is_causal=*/true, in.scale,
                                          in.is_grouped()));
}

bool has_kernel_of(Backend backend, const at::Tensor& q) {
  return has_aten_kernel(backend == Backend::kCudnn ? "aten::_scaled_dot_product_cudnn_attention"
                                                    : "aten::_scaled_dot_product_flash_attention",
                         q);
}

/// Keeps what a new shape takes. A named kernel that is not taken is worth a warning.
void note_use(Choices& all, const AttentionCall& call, const Inputs& in) {
  const Backend taken = libtorch_takes(in);
  const std::lock_guard lock(all.mutex);
  if (all.uses.size() == kMostKept) return;
  all.uses.push_back({call, taken});
  if (in.q.is_cpu()) return;
  const bool is_named = all.wish == Backend::kCudnn || all.wish == Backend::kFlash;
  if (is_named && taken != all.wish) {
    const std::string why = attention_obstacle(all.wish, call, has_kernel_of(all.wish, in.q));
    all.note(true, why,
             fmt::format("trainer.attention={} is not used for {}, {} is: {}", name_of(all.wish),
                         call.text(), name_of(taken), why));
  }
  all.note(false, name_of(taken), fmt::format("attention: {}, {}", name_of(taken), call.text()));
}

struct Chosen {
  Backend backend;
  bool is_new;
};

Chosen choose(Choices& all, const AttentionCall& call) {
  const std::lock_guard lock(all.mutex);
  Backend backend = choose_attention(all.wish, call, all.seen);
  if (backend == Backend::kCudnn && all.cudnn_has_failed) backend = Backend::kFlash;
  const bool is_new = all.seen.size() < kMostKept &&
                      std::find(all.seen.begin(), all.seen.end(), call) == all.seen.end();
  if (is_new) all.seen.push_back(call);
  return {backend, is_new};
}

void cudnn_failed(Choices& all, const AttentionCall& call, const c10::Error& error) {
  const std::lock_guard lock(all.mutex);
  all.cudnn_has_failed = true;
  for (AttentionUse& use : all.uses) {
    if (use.call == call) use.backend = Backend::kFlash;
  }
  all.note(true, "failed",
           fmt::format("cuDNN's attention failed for {}, and is not used from here on: {}",
                       call.text(), error.what_without_backtrace()));
}

}  // namespace

const char* name_of(AttentionBackend backend) {
  return kNames[static_cast<size_t>(backend)].second;
}

AttentionBackend attention_backend(std::string_view name) {
  for (const auto& [backend, known] : kNames) {
    if (name == known) return backend;
  }
  return Backend::kAuto;
}

std::string AttentionCall::text() const {
  return fmt::format("[{}, {}, {}, {}]", rows, heads, positions, head_dim);
}

/// cuDNN's attention is the fastest one on the GPUs for which LibTorch puts it first (compute
/// capability 9 and 10), but builds a plan for each new shape, which takes tens of milliseconds. So
/// `auto` gives it to the first few shapes of a training: one batch size and length, or a few
/// lengths. Where widths vary, further shapes take flash attention, which needs no plan. A shape
/// keeps its kernel, so a block that is computed again in the backward pass repeats its bits. One
/// query (decoding) never takes cuDNN: wrong results have been reported for it. Windows and packed
/// documents have kernels of flash attention.
AttentionBackend choose_attention(AttentionBackend wish, const AttentionCall& call,
                                  const std::vector<AttentionCall>& seen) {
  if (wish == Backend::kMath) return Backend::kMath;
  if (!call.is_dense || !call.trains || call.positions <= 1) return Backend::kFlash;
  if (wish != Backend::kAuto) return wish;
  const auto end = seen.begin() + static_cast<int64_t>(std::min(seen.size(), kFewAttentionShapes));
  const bool is_early =
      seen.size() < kFewAttentionShapes || std::find(seen.begin(), end, call) != end;
  return is_early ? Backend::kCudnn : Backend::kFlash;
}

std::string attention_obstacle(AttentionBackend backend, const AttentionCall& call,
                               bool has_kernel) {
  const bool is_cudnn = backend == Backend::kCudnn;
  if (!has_kernel) return "this device has no such kernel";
  if (call.type != at::kBFloat16 && call.type != at::kHalf) {
    return fmt::format("it computes in bfloat16 and float16, not in {} (trainer.precision)",
                       c10::toString(call.type));
  }
  if (call.head_dim > (is_cudnn ? 128 : 256)) return "the heads are too large for it";
  if (is_cudnn && call.head_dim % 8 != 0) return "its head size is a multiple of 8";
  if (is_cudnn && call.dropout * 16 != std::floor(call.dropout * 16)) {
    return "its dropout is a multiple of 1/16";
  }
  if (is_cudnn && at::globalContext().deterministicAlgorithms()) {
    return "it is not deterministic (trainer.deterministic)";
  }
  return "LibTorch does not offer it for this shape on this device";
}

void set_attention(AttentionBackend wish) {
  at::Context& torch = at::globalContext();
  const bool is_plain = wish == Backend::kMath;
  torch.setSDPUseMath(true);
  torch.setSDPUseFlash(!is_plain);
  torch.setSDPUseMemEfficient(!is_plain);
  torch.setSDPUseCuDNN(false);
  if (wish == Backend::kCudnn) {  // else LibTorch's own order, which depends on the GPU
    torch.setSDPPriorityOrder({static_cast<int64_t>(at::SDPBackend::cudnn_attention),
                               static_cast<int64_t>(at::SDPBackend::flash_attention),
                               static_cast<int64_t>(at::SDPBackend::efficient_attention),
                               static_cast<int64_t>(at::SDPBackend::math)});
  }
  Choices& all = choices();
  const std::lock_guard lock(all.mutex);
  all.wish = wish;
  all.cudnn_has_failed = false;
  all.seen.clear();
  all.uses.clear();
  all.notes.clear();
  all.reasons.clear();
}

bool is_plain_attention() {
  Choices& all = choices();
  const std::lock_guard lock(all.mutex);
  return all.wish == Backend::kMath;
}

at::Tensor chosen_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            double dropout, double scale) {
  const Inputs in{q, k, v, dropout, scale};
  const AttentionCall call{q.size(0), q.size(1),        k.size(1), q.size(2),
                           q.size(3), computed_type(q), dropout};
  Choices& all = choices();
  const auto [backend, is_new] = choose(all, call);
  if (backend == Backend::kCudnn && !q.is_cpu()) {
    try {
      const CudnnAllowed allowed;
      if (is_new) note_use(all, call, in);
      return in.run();
    } catch (const c10::OutOfMemoryError&) {
      throw;  // not for lack of a kernel
    } catch (const c10::Error& error) {
      cudnn_failed(all, call, error);
    }
    return in.run();
  }
  if (is_new) note_use(all, call, in);
  return in.run();
}

void note_other_attention(const at::Tensor& q, AttentionBackend taken, const char* kind) {
  if (q.is_cpu() || !at::GradMode::is_enabled() || !q.requires_grad()) return;
  Choices& all = choices();
  const std::lock_guard lock(all.mutex);
  if (all.wish == Backend::kAuto || all.wish == Backend::kMath || all.wish == taken) return;
  all.note(true, kind,
           fmt::format("trainer.attention={} is not used for attention with {}, {} is: it is for "
                       "causal attention over all keys",
                       name_of(all.wish), kind, name_of(taken)));
}

std::vector<AttentionUse> attention_uses() {
  Choices& all = choices();
  const std::lock_guard lock(all.mutex);
  return all.uses;
}

std::vector<AttentionNote> take_attention_notes() {
  Choices& all = choices();
  const std::lock_guard lock(all.mutex);
  return std::exchange(all.notes, {});
}

}  // namespace s2s
