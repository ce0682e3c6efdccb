#pragma once
// The accelerator of this machine, under LibTorch's device-neutral interface (at::accelerator). Its
// library is loaded on demand (decision record 0006).
//
// Do not ask LibTorch for a GPU before `open_accelerator`. LibTorch would remember that there is
// none.

#include <c10/core/DeviceType.h>

#include <optional>
#include <string>

namespace s2s {

/// Loads LibTorch's CUDA libraries if the machine has an NVIDIA driver. The environment variable
/// S2S_DEVICE_LIBRARY names another library, which registers a device with LibTorch when it is
/// loaded. Returns the type of the device, or nothing with the reason in `why`. Later calls return
/// the result of the first. Thread-safe.
std::optional<c10::DeviceType> open_accelerator(std::string& why);

/// Returns the accelerator that this process has opened, if any.
std::optional<c10::DeviceType> opened_accelerator();

/// Returns whether this machine seems to have an accelerator. Fast: loads no library of LibTorch.
bool has_accelerator_driver();

}  // namespace s2s
