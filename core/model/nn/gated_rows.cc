#include "nn/gated_rows.h"

#include "nn/row_runs.h"

namespace s2s {
namespace {

/// Calls `body` with the activation.
template <class Body>
void with_gate(bool is_silu, Body body) {
  if (is_silu) {
    body(rows::Silu{});
  } else {
    body(rows::GeluTanh{});
  }
}

}  // namespace

at::Tensor gated_rows(const at::Tensor& gate, const at::Tensor& up, bool is_silu) {
  const at::Tensor y = at::empty_like(gate);
  with_type(gate, [&](auto type) {
    using T = decltype(type);
    with_gate(is_silu, [&](auto activation) {
      using Gate = decltype(activation);
      run_elements(rows::GatedRows<T, Gate>{data_of<T>(gate), data_of<T>(up), data_of<T>(y)},
                   gate.numel());
    });
  });
  return y;
}

std::tuple<at::Tensor, at::Tensor> gated_rows_backward(const at::Tensor& dy, const at::Tensor& gate,
                                                       const at::Tensor& up, bool is_silu) {
  const at::Tensor d_gate = at::empty_like(dy);
  const at::Tensor d_up = at::empty_like(dy);
  with_type(dy, [&](auto type) {
    using T = decltype(type);
    with_gate(is_silu, [&](auto activation) {
      using Gate = decltype(activation);
      run_elements(rows::GatedGradRows<T, Gate>{data_of<T>(dy), data_of<T>(gate), data_of<T>(up),
                                                data_of<T>(d_gate), data_of<T>(d_up)},
                   dy.numel());
    });
  });
  return {d_gate, d_up};
}

at::Tensor gated_halves_rows(const at::Tensor& gate_up, bool is_silu) {
  const auto halves = gate_up.chunk(2, -1);
  return gated_rows(halves[0].contiguous(), halves[1].contiguous(), is_silu);
}

at::Tensor gated_halves_rows_backward(const at::Tensor& dy, const at::Tensor& gate_up,
                                      bool is_silu) {
  const auto halves = gate_up.chunk(2, -1);
  const auto [d_gate, d_up] =
      gated_rows_backward(dy, halves[0].contiguous(), halves[1].contiguous(), is_silu);
  return at::cat({d_gate, d_up}, -1);
}

}  // namespace s2s
