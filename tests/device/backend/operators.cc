// Operators of the test device: the CPU's kernels, on memory that is open for the time of one
// operator.

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/resize_native.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/view_native.h>
#include <torch/library.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "device/backend/copies.h"
#include "device/backend/generator.h"
#include "device/backend/host_waits.h"
#include "device/backend/memory.h"
#include "device/backend/on_host.h"
#include "device/backend/streams.h"

namespace s2s::test_device {
namespace {

/// Their results have sizes that a GPU's host has to wait for.
constexpr std::array<std::string_view, 9> kWaiting = {
    "aten::nonzero",  "aten::masked_select",      "aten::_unique",
    "aten::_unique2", "aten::unique_consecutive", "aten::unique_dim",
    "aten::equal",    "aten::repeat_interleave",  "aten::bincount"};

/// Indices may be on the CPU, as on other devices.
constexpr std::array<std::string_view, 3> kIndexing = {"aten::index", "aten::index_put_",
                                                       "aten::_index_put_impl_"};

template <size_t N>
bool is_among(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// An operator's arguments on the host, and back.
class Call {
 public:
  explicit Call(const c10::OperatorHandle& op) : op_(op), name_(op.schema().name()) {}

  void take_arguments(torch::jit::Stack& stack) {
    const auto& arguments = op_.schema().arguments();
    const size_t begin = stack.size() - arguments.size();
    for (size_t i = 0; i < arguments.size(); ++i) {
      take(stack[begin + i], arguments[i].name() == "generator");
    }
    if (is_among(kWaiting, name_)) count_wait(name_);
  }

  void give_results(torch::jit::Stack& stack) {
    host_.settle();
    const size_t begin = stack.size() - op_.schema().returns().size();
    for (size_t i = begin; i < stack.size(); ++i) give(stack[i]);
  }

 private:
  /// A CPU's tensor may stand for a number only.
  at::Tensor host(const at::Tensor& tensor) {
    if (!tensor.defined()) return tensor;
    if (tensor.is_cpu()) {
      TORCH_CHECK(tensor.dim() == 0, name_,
                  ": expected all tensors to be on the same device, but found the test device and "
                  "a tensor of the CPU of sizes ",
                  tensor.sizes());
      return tensor;
    }
    TORCH_CHECK(tensor.is_privateuseone(), name_, ": a tensor of ", tensor.device());
    return host_.host(tensor);
  }

  std::optional<at::Tensor> host_index(const std::optional<at::Tensor>& index) {
    if (!index || !index->defined()) return index;
    const bool is_mask = index->scalar_type() == at::kBool || index->scalar_type() == at::kByte;
    // `index` has called `nonzero` on the device.
    if (is_mask && name_ != "aten::index") count_wait(name_ + " by a mask");
    return index->is_cpu() && is_among(kIndexing, name_) ? *index : host(*index);
  }

  void take(c10::IValue& value, bool is_generator) {
    if (is_generator) {
      value = host_generator(value);
    } else if (value.isTensor()) {
      value = host(value.toTensor());
    } else if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(host(tensor));
      value = std::move(list);
    } else if (value.isOptionalTensorList()) {
      c10::List<std::optional<at::Tensor>> list;
      for (const auto& tensor : value.toOptionalTensorVector()) list.push_back(host_index(tensor));
      value = std::move(list);
    } else if (value.isDevice()) {
      value = c10::Device(c10::DeviceType::CPU);
    }
  }

  void give(c10::IValue& value) const {
    if (value.isTensor()) {
      value = host_.device(value.toTensor());
    } else if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(host_.device(tensor));
      value = std::move(list);
    }
  }

  const c10::OperatorHandle& op_;
  const std::string name_;
  OnHost host_;
};

void run_on_host(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  count_operator();
  streams().finish(current_stream());
  Call call(op);
  call.take_arguments(*stack);
  {
    const at::AutoDispatchBelowADInplaceOrView below;
    op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  }
  call.give_results(*stack);
}

using Sizes = c10::IntArrayRef;

void check_memory(std::optional<c10::Layout> layout, std::optional<bool> pin_memory) {
  TORCH_CHECK(c10::layout_or_default(layout) == c10::kStrided, "test device: a layout of tensors");
  TORCH_CHECK(!pin_memory.value_or(false), "memory of the CPU can be pinned, no other");
}

at::Tensor empty(Sizes sizes, std::optional<c10::ScalarType> dtype,
                 std::optional<c10::Layout> layout, std::optional<c10::Device>,
                 std::optional<bool> pin_memory, std::optional<c10::MemoryFormat> format) {
  check_memory(layout, pin_memory);
  return at::detail::empty_generic(sizes, &device_allocator(),
                                   c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                   c10::dtype_or_default(dtype), format);
}

at::Tensor empty_strided(Sizes sizes, Sizes strides, std::optional<c10::ScalarType> dtype,
                         std::optional<c10::Layout> layout, std::optional<c10::Device>,
                         std::optional<bool> pin_memory) {
  check_memory(layout, pin_memory);
  return at::detail::empty_strided_generic(sizes, strides, &device_allocator(),
                                           c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                           c10::dtype_or_default(dtype));
}

at::Scalar local_scalar(const at::Tensor& self) {
  count_wait("item");
  streams().finish(current_stream());
  return OnHost().host(self).item();
}

void record_stream(at::Tensor& self, c10::Stream stream) {
  record_use(self.storage().data(), stream.id());
}

/// The CPU's kernel would draw from the CPU's generator.
std::tuple<at::Tensor, at::Tensor> native_dropout(const at::Tensor& input, double p,
                                                  std::optional<bool> train) {
  const double kept = train.value_or(true) ? 1 - p : 1;
  const at::Tensor mask = at::empty_like(input, input.options().dtype(at::kBool)).bernoulli_(kept);
  return {input.mul(mask).mul_(kept == 0 ? 0 : 1 / kept), mask};
}

}  // namespace

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&run_on_host>());
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", &empty);
  m.impl("empty_strided", &empty_strided);
  m.impl("as_strided", &at::native::as_strided_tensorimpl);
  m.impl("view", &at::native::view);
  m.impl("_reshape_alias", &at::native::_reshape_alias);
  m.impl("resize_", &at::native::resize_);
  m.impl("set_.source_Storage", &at::native::set_);
  m.impl("set_.source_Storage_storage_offset", &at::native::set_storage_cpu_);
  m.impl("set_.source_Tensor", &at::native::set_tensor_);
  m.impl("_copy_from", &copy_from);
  m.impl("_copy_from_and_resize", &copy_from_and_resize);
  m.impl("_local_scalar_dense", &local_scalar);
  m.impl("record_stream", &record_stream);
  m.impl("native_dropout", &native_dropout);
}

}  // namespace s2s::test_device
