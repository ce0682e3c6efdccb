#pragma once
// The accelerator of the machine that a process runs on, under LibTorch's device-neutral interface
// (at::accelerator). Its library is opened when it is asked for (decision record 0006).
//
// Nobody asks LibTorch for a GPU before `open_accelerator`: it would remember that there is none.

#include <c10/core/DeviceType.h>

#include <optional>
#include <string>

namespace s2s {

/// Opens LibTorch's CUDA half where there is an NVIDIA driver. The environment variable
/// S2S_DEVICE_LIBRARY names another library, which registers a device with LibTorch when it is
/// loaded. Returns the type of the device; nothing, with the reason in `why`, when there is none.
/// Later calls return what the first one found. Thread-safe.
std::optional<c10::DeviceType> open_accelerator(std::string& why);

/// The accelerator, where this process has opened one.
std::optional<c10::DeviceType> opened_accelerator();

/// Whether an accelerator can be expected here. Fast: nothing of LibTorch's is opened.
bool has_accelerator_driver();

}  // namespace s2s
