#pragma once
// DeviceKernels: one-pass implementations of s2s's operators for one type of device. Kind
// `kernels`.

#include <memory>
#include <string>
#include <vector>

#include "s2s/nn/device_graph.h"

namespace s2s {

/// Registers implementations of s2s's operators in LibTorch's dispatcher, for its type of device,
/// and keeps them there while it lives. The name of the component is the type of device as LibTorch
/// writes it in lower case. A run that computes on such a device builds it first; operators that it
/// lacks run as plain formulas. The schemas are in core/model/nn/operators.cc.
///
/// An operator and its backward are registered together; `rotate_qk` is its own backward. They get
/// contiguous tensors (rotations: heads whose elements are adjacent) of float32, bfloat16 or
/// float16, and have to compute every size. All tensors have one dtype, except those of norms: the
/// weight and `y` may differ from `x`, and the sum always has the dtype of `x`.
class DeviceKernels {
 public:
  virtual ~DeviceKernels();
  /// Returns the names of the registered operators ("rms_norm"), without the backward operators.
  /// Empty if the machine lacks what they need; the component then has given a warning.
  virtual std::vector<std::string> operators() const = 0;
  /// Returns an empty graph for work of this type of device. Default: null, it has none.
  virtual std::unique_ptr<DeviceGraph> make_graph();
};

}  // namespace s2s
