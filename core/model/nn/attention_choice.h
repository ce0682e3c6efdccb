#pragma once
// Which of LibTorch's attention kernels the attention of a decoder takes: trainer.attention
// (decision 0032). LibTorch's switches belong to the process, and so does this choice.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace s2s {

/// The names of LibTorch's SDPBackend. kAuto and the values after it, but kEfficient, are the
/// values of trainer.attention.
enum class AttentionBackend { kAuto, kCudnn, kFlash, kEfficient, kMath };

/// Returns "auto", "cudnn", "flash", "efficient" or "math".
const char* name_of(AttentionBackend backend);
/// The reverse. `name` has been checked.
AttentionBackend attention_backend(std::string_view name);

/// A call of attention, as far as the choice depends on it.
struct AttentionCall {
  int64_t rows = 0, heads = 0, kv_heads = 0, positions = 0, head_dim = 0;
  at::ScalarType type = at::kFloat;
  double dropout = 0;
  bool is_dense = true;  // causal over all keys: no window, no documents, no cache
  bool trains = true;    // a gradient is wanted
  bool operator==(const AttentionCall&) const = default;
  /// "[rows, heads, positions, head_dim]"
  std::string text() const;
};

/// Training with at most this many shapes counts as training with fixed shapes.
constexpr size_t kFewAttentionShapes = 4;

/// Returns the kernel to ask LibTorch for: kCudnn, kFlash or kMath. `seen`: the different calls in
/// the order of their first occurrence, with or without this one.
AttentionBackend choose_attention(AttentionBackend wish, const AttentionCall& call,
                                  const std::vector<AttentionCall>& seen);

/// Returns why a kernel cannot take a call, as far as this is known from outside of LibTorch.
/// `has_kernel`: the type of device has the kernel at all.
std::string attention_obstacle(AttentionBackend backend, const AttentionCall& call,
                               bool has_kernel);

/// Sets the choice and LibTorch's switches for this process, and forgets the calls so far.
void set_attention(AttentionBackend wish);

/// Returns true for trainer.attention=math: every attention is the plain formula.
bool is_plain_attention();

/// Dense causal attention with gradients, by the kernel that the rule chooses.
/// Shapes: q [B, heads, T, D], k, v [B, kv, T, D] -> [B, heads, T, D].
at::Tensor chosen_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            double dropout, double scale);

/// Keeps a warning if trainer.attention names a kernel that is not for this kind of attention.
/// `kind`: "a window", for example.
void note_other_attention(const at::Tensor& q, AttentionBackend taken, const char* kind);

/// What the training calls took, one entry for each of the first 16 shapes.
struct AttentionUse {
  AttentionCall call;
  AttentionBackend backend = AttentionBackend::kMath;
};
std::vector<AttentionUse> attention_uses();

/// What a user should read once. Nothing on a CPU.
struct AttentionNote {
  bool is_warning = false;
  std::string text;
};
/// Returns the notes since the last call.
std::vector<AttentionNote> take_attention_notes();

}  // namespace s2s
