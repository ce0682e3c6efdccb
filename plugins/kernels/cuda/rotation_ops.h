#pragma once
// The rotations of s2s on CUDA devices: which kernel, its grid, its memory.

#include <ATen/core/Tensor.h>

#include <memory>
#include <tuple>

#include "jit.h"

namespace s2s::cuda {

/// Each has the meaning of the operator of its name (core/model/nn/operators.cc).
class RotationOps {
 public:
  explicit RotationOps(std::shared_ptr<Jit> jit) : jit_(std::move(jit)) {}
  std::tuple<at::Tensor, at::Tensor> rotate_qk(const at::Tensor& q, const at::Tensor& k,
                                               const at::Tensor& cos, const at::Tensor& sin,
                                               bool is_inverse) const;
  void rotate_qkv_(const at::Tensor& qkv, const at::Tensor& cos, const at::Tensor& sin,
                   int64_t num_heads, int64_t num_kv_heads) const;
  at::Tensor rotate_qkv_backward(const at::Tensor& dq, const at::Tensor& dk, const at::Tensor& dv,
                                 const at::Tensor& cos, const at::Tensor& sin) const;

 private:
  /// [B, T, heads, D] each. Elements of a head are adjacent; those that are written have sequences
  /// one after the other.
  struct Move {
    at::Tensor from, to;
  };
  /// v.from: undefined if there are no values.
  void rotate(const Move& q, const Move& k, const Move& v, const at::Tensor& cos,
              const at::Tensor& sin, bool is_inverse) const;

  std::shared_ptr<Jit> jit_;
};

}  // namespace s2s::cuda
