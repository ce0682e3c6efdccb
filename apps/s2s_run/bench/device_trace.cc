// LibTorch's wheels are built with Kineto. Its headers ask for the macro before they declare the
// result's real type.
#define USE_KINETO
#include "s2s_run/bench/device_trace.h"

#include <kineto/ActivityTraceInterface.h>
#include <torch/csrc/autograd/profiler_kineto.h>
#include <torch/csrc/profiler/kineto_shim.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/io_errors.h"
#include "s2s_run/bench/bench_device.h"

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

}  // namespace

void write_device_trace(const std::string& path, at::Device device,
                        const std::function<void()>& body) {
  namespace profiler = torch::autograd::profiler;
  const std::set<ActivityType> activities = activities_of(device);
  const torch::profiler::impl::ProfilerConfig config(torch::profiler::impl::ProfilerState::KINETO,
                                                     /*report_input_shapes=*/true);
  // Kineto reports on standard error that a machine has no GPU. A level that is set is kept.
  if (device.is_cpu()) setenv("KINETO_LOG_LEVEL", "99", /*overwrite=*/0);
  wait_for_device(device);
  profiler::prepareProfiler(config, activities);
  profiler::enableProfiler(config, activities,
                           {at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION});
  body();
  wait_for_device(device);
  errno = 0;
  profiler::disableProfiler()->save(path);
  if (!std::filesystem::is_regular_file(path)) throw write_error(path, "cannot write", errno);
}

}  // namespace s2s::run
