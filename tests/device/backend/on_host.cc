#include "device/backend/on_host.h"

#include <ATen/ATen.h>

#include "device/backend/memory.h"
#include "device/backend/streams.h"

namespace s2s::test_device {
namespace {

bool have_one_storage(const c10::Storage& a, const c10::Storage& b) {
  return a.unsafeGetStorageImpl() == b.unsafeGetStorageImpl();
}

at::Tensor tensor_of(c10::Storage storage, c10::DispatchKey key, const at::Tensor& like) {
  at::Tensor made = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(key), like.dtype());
  c10::TensorImpl& impl = *made.unsafeGetTensorImpl();
  impl.set_sizes_and_strides(like.sizes(), like.strides(), like.storage_offset());
  if (like.unsafeGetTensorImpl()->is_wrapped_number()) impl.set_wrapped_number(true);
  if (like.is_conj()) impl._set_conj(true);
  if (like.is_neg()) impl._set_neg(true);
  return made;
}

}  // namespace

at::Tensor device_tensor(const c10::Storage& storage, const at::Tensor& like) {
  return tensor_of(storage, c10::DispatchKey::PrivateUse1, like);
}

c10::Storage OnHost::host_storage(const c10::Storage& device) {
  for (const auto& [of_device, of_host] : storages_) {
    if (have_one_storage(of_device, device)) return of_host;
  }
  c10::Storage made(c10::Storage::use_byte_size_t(), device.nbytes(),
                    c10::DataPtr(host_address(device.data()), c10::DeviceType::CPU),
                    c10::GetAllocator(c10::DeviceType::CPU), /*resizable=*/true);
  storages_.emplace_back(device, made);
  return made;
}

at::Tensor OnHost::host(const at::Tensor& device) {
  for (const Pair& pair : tensors_) {
    if (pair.device.is_same(device)) return pair.host;
  }
  const at::Tensor made = tensor_of(host_storage(device.storage()), c10::DispatchKey::CPU, device);
  tensors_.push_back({device, made});
  return made;
}

at::Tensor OnHost::device(const at::Tensor& host) const {
  if (!host.defined()) return host;
  for (const Pair& pair : tensors_) {
    if (pair.host.is_same(host)) return pair.device;
  }
  for (const auto& [of_device, of_host] : storages_) {
    if (have_one_storage(of_host, host.storage())) return device_tensor(of_device, host);
  }
  const at::Tensor elements = host.is_non_overlapping_and_dense() ? host : host.contiguous();
  const at::Tensor made = at::empty_strided(elements.sizes(), elements.strides(),
                                            elements.options().device(this_device()));
  OnHost().host(made).copy_(elements);
  return made;
}

void OnHost::settle() const {
  for (const auto& [device, host] : tensors_) {
    const bool is_as_before = device.sizes() == host.sizes() &&
                              device.strides() == host.strides() &&
                              device.storage_offset() == host.storage_offset();
    const bool is_in_place = host.storage().data() == host_address(device.storage().data());
    if (is_as_before && is_in_place) continue;
    if (is_in_place) {
      device.unsafeGetTensorImpl()->set_sizes_and_strides(host.sizes(), host.strides(),
                                                          host.storage_offset());
      continue;
    }
    device.resize_(host.sizes());
    OnHost().host(device).copy_(host);
  }
}

}  // namespace s2s::test_device
