#pragma once
// Copies to, from and within the test device. Those that need not wait run late.

#include <ATen/core/Tensor.h>

namespace s2s::test_device {

/// `from`, `to`: at least one of them on the device.
at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool non_blocking);
at::Tensor copy_from_and_resize(const at::Tensor& from, const at::Tensor& to);

}  // namespace s2s::test_device
