#include "base/side_stream.h"

#include <ATen/ATen.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace s2s {
namespace {

c10::Stream current_stream(at::Device device) {
  return c10::impl::VirtualGuardImpl(device.type()).getStream(device);
}

}  // namespace

SideStream::SideStream(at::Device device) {
  if (device.is_cpu()) return;
  stream_ = c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device);
}

StreamMark SideStream::run(const std::function<void()>& body) const {
  if (stream_) {
    c10::Event start(stream_->device_type());
    start.record(current_stream(stream_->device()));
    start.block(*stream_);
  }
  return run_ahead(body);
}

StreamMark SideStream::run_ahead(const std::function<void()>& body) const {
  if (!stream_) {
    body();
    return {};
  }
  {
    const c10::StreamGuard guard(*stream_);
    body();
  }
  c10::Event end(stream_->device_type());
  end.record(*stream_);
  return end;
}

void SideStream::wait_for(const StreamMark& mark) const {
  if (mark) mark->block(current_stream(stream_->device()));
}

void SideStream::hand_over(const at::Tensor& tensor) const {
  if (stream_) tensor.record_stream(current_stream(stream_->device()));
}

void SideStream::synchronize() const {
  if (stream_) stream_->synchronize();
}

LateNumbers::LateNumbers(const at::Tensor& numbers) : here_(numbers) {
  if (numbers.is_cpu()) return;
  here_ = at::empty(numbers.sizes(), numbers.options().device(at::kCPU).pinned_memory(true));
  here_.copy_(numbers, /*non_blocking=*/true);
  mark_.emplace(numbers.device().type());
  mark_->record(current_stream(numbers.device()));
}

std::vector<double> LateNumbers::read() const {
  if (mark_) mark_->synchronize();
  return {here_.const_data_ptr<double>(), here_.const_data_ptr<double>() + here_.numel()};
}

}  // namespace s2s
