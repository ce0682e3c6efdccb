// LibTorch's wheels are built with Kineto. Its headers ask for the macro before they declare the
// result's real type.
#define USE_KINETO
#include "profile/device_trace.h"

#include <ATen/DeviceAccelerator.h>
#include <kineto/ActivityTraceInterface.h>
#include <torch/csrc/autograd/profiler_kineto.h>
#include <torch/csrc/profiler/kineto_shim.h>
#include <torch/csrc/profiler/stubs/base.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <unordered_set>

#include "base/io_errors.h"

namespace s2s::run {
namespace {

using torch::profiler::impl::ActivityType;

std::set<ActivityType> activities_of(at::Device device) {
  switch (device.type()) {
    case at::kCUDA:
      return {ActivityType::CPU, ActivityType::CUDA};
    case at::kXPU:
      return {ActivityType::CPU, ActivityType::XPU};
    case at::kPrivateUse1:
      return {ActivityType::CPU, ActivityType::PrivateUse1};
    default:
      return {ActivityType::CPU};
  }
}

std::unordered_set<at::RecordScope> scopes() {
  return {at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION,
          at::RecordScope::USER_SCOPE};
}

void wait_for(at::Device device) {
  if (!device.is_cpu()) at::accelerator::synchronizeDevice(device.index());
}

}  // namespace

void start_device_trace(at::Device device, bool shapes) {
  const std::set<ActivityType> activities = activities_of(device);
  const torch::profiler::impl::ProfilerConfig config(torch::profiler::impl::ProfilerState::KINETO,
                                                     /*report_input_shapes=*/shapes);
  // Kineto reports on standard error that a machine has no GPU. A level that is set is kept.
  if (device.is_cpu()) setenv("KINETO_LOG_LEVEL", "99", /*overwrite=*/0);
  wait_for(device);
  torch::autograd::profiler::prepareProfiler(config, activities);
  torch::autograd::profiler::enableProfiler(config, activities, scopes());
}

void stop_device_trace(at::Device device, const std::string& path) {
  wait_for(device);
  errno = 0;
  torch::autograd::profiler::disableProfiler()->save(path);
  if (!std::filesystem::is_regular_file(path)) throw write_error(path, "cannot write", errno);
}

std::string start_nvtx_ranges(bool shapes) {
  using torch::profiler::impl::ProfilerState;
  if (!torch::profiler::impl::cudaStubs()->enabled()) return "LibTorch's CUDA half is not loaded";
  const torch::profiler::impl::ProfilerConfig config(ProfilerState::NVTX, shapes);
  torch::autograd::profiler::enableProfiler(config, {}, scopes());
  return "";
}

void stop_nvtx_ranges() { torch::autograd::profiler::disableProfiler(); }

void write_device_trace(const std::string& path, at::Device device,
                        const std::function<void()>& body) {
  start_device_trace(device, /*shapes=*/true);
  body();
  stop_device_trace(device, path);
}

}  // namespace s2s::run
