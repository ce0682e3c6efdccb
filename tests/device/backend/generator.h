#pragma once
// Random numbers of the test device: a generator of its own, whose numbers are not those that a
// CPU draws from the same seed.

#include <ATen/core/Generator.h>
#include <ATen/core/ivalue.h>

namespace s2s::test_device {

const at::Generator& default_generator();
at::Generator new_generator();

/// What the CPU's kernels draw from for `asked`: an operator's argument, a generator or none.
/// Errors: c10::Error for a generator of another device.
c10::IValue host_generator(const c10::IValue& asked);

}  // namespace s2s::test_device
