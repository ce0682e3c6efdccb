#pragma once
// Where the time of a run went, and what its device can do.

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <string>

#include "train/trainer.h"

namespace s2s::run {

/// A table of the phases: seconds, milliseconds for each step, and their share of the time. "" when
/// no step was run.
std::string time_table(const RunTimes& times);

/// Floating-point operations of a device in a second, from a square matrix product of elements of
/// `type`. Takes some hundredths of a second; draws no random numbers.
double measured_flops(at::Device device, at::ScalarType type);

}  // namespace s2s::run
