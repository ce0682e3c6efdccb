#include "device/backend/streams.h"

#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "device/backend/host_waits.h"
#include "device/backend/memory.h"

namespace s2s::test_device {
namespace {

thread_local c10::StreamId stream_of_thread = 0;

bool uses(const Job& job, const void* memory) {
  return std::find(job.memory.begin(), job.memory.end(), memory) != job.memory.end();
}

}  // namespace

Streams& streams() {
  static auto* const all = new Streams;  // tensors may outlive static objects
  return *all;
}

c10::StreamId current_stream() { return stream_of_thread; }

void Streams::submit(c10::StreamId stream, Job job) {
  const std::lock_guard lock(mutex_);
  queue(stream).jobs.push_back(std::move(job));
  ++queue(stream).given;
}

void Streams::run_first(Queue& queue) {
  const Job job = std::move(queue.jobs.front());
  queue.jobs.pop_front();
  job.run();
  ++queue.done;
}

void Streams::finish(c10::StreamId stream, int64_t count) {
  const std::lock_guard lock(mutex_);
  Queue& own = queue(stream);
  while (own.done < count && !own.jobs.empty()) run_first(own);
}

void Streams::finish_all() {
  for (size_t i = 0; i < kCount; ++i) finish(static_cast<c10::StreamId>(i));
}

void Streams::finish_uses(c10::StreamId stream, const void* memory) {
  const std::lock_guard lock(mutex_);
  const auto& jobs = queue(stream).jobs;
  const bool is_used =
      std::any_of(jobs.begin(), jobs.end(), [&](const Job& job) { return uses(job, memory); });
  if (is_used) finish(stream);
}

bool Streams::is_used(const void* memory) {
  const std::lock_guard lock(mutex_);
  return std::any_of(queues_.begin(), queues_.end(), [&](const Queue& queue) {
    return std::any_of(queue.jobs.begin(), queue.jobs.end(),
                       [&](const Job& job) { return uses(job, memory); });
  });
}

int64_t Streams::given(c10::StreamId stream) {
  const std::lock_guard lock(mutex_);
  return queue(stream).given;
}

int64_t Streams::done(c10::StreamId stream) {
  const std::lock_guard lock(mutex_);
  return queue(stream).done;
}

bool Streams::is_idle(c10::StreamId stream) {
  const std::lock_guard lock(mutex_);
  return queue(stream).jobs.empty();
}

void Streams::advance(c10::StreamId stream) {
  const std::lock_guard lock(mutex_);
  if (!queue(stream).jobs.empty()) run_first(queue(stream));
}

c10::StreamId Streams::take_from_pool() {
  const std::lock_guard lock(mutex_);
  next_of_pool_ = next_of_pool_ % (kCount - 1) + 1;
  return static_cast<c10::StreamId>(next_of_pool_);
}

namespace {

/// A place in what a stream was given.
struct Event {
  c10::StreamId stream = 0;
  int64_t count = 0;
  std::chrono::steady_clock::time_point time;
};

c10::Stream stream_object(c10::StreamId id) {
  return c10::Stream(c10::Stream::UNSAFE, this_device(), id);
}

/// How LibTorch's device-neutral code reaches streams and events.
class Guard final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override { return c10::DeviceType::PrivateUse1; }
  c10::Device exchangeDevice(c10::Device) const override { return this_device(); }
  c10::Device getDevice() const override { return this_device(); }
  void setDevice(c10::Device device) const override {
    TORCH_CHECK(device.index() <= 0, "the test device is one device, not number ", device.index());
  }
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }

  c10::Stream getStream(c10::Device) const override { return stream_object(stream_of_thread); }
  c10::Stream getDefaultStream(c10::Device) const override { return stream_object(0); }
  c10::Stream getStreamFromGlobalPool(c10::Device, bool) const override {
    return stream_object(streams().take_from_pool());
  }
  c10::Stream getNewStream(c10::Device, int) const override {
    return stream_object(streams().take_from_pool());
  }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    return stream_object(std::exchange(stream_of_thread, stream.id()));
  }
  bool queryStream(const c10::Stream& stream) const override {
    const bool is_idle = streams().is_idle(stream.id());
    streams().advance(stream.id());
    return is_idle;
  }
  void synchronizeStream(const c10::Stream& stream) const override {
    count_wait("stream.synchronize");
    streams().finish(stream.id());
  }
  void synchronizeDevice(c10::DeviceIndex) const override {
    count_wait("device.synchronize");
    streams().finish_all();
  }
  void recordDataPtrOnStream(const c10::DataPtr& data, const c10::Stream& stream) const override {
    record_use(data.get(), stream.id());
  }

  void destroyEvent(void* event, c10::DeviceIndex) const noexcept override {
    delete static_cast<Event*>(event);
  }
  void record(void** event, const c10::Stream& stream, c10::DeviceIndex,
              c10::EventFlag) const override {
    if (*event == nullptr) *event = new Event;
    *static_cast<Event*>(*event) = {stream.id(), streams().given(stream.id()),
                                    std::chrono::steady_clock::now()};
  }
  void block(void* event, const c10::Stream& stream) const override {
    if (event == nullptr) return;
    const Event place = *static_cast<Event*>(event);
    streams().submit(stream.id(), {[place] { streams().finish(place.stream, place.count); }, {}});
  }
  bool queryEvent(void* event) const override {
    if (event == nullptr) return true;
    const Event& place = *static_cast<Event*>(event);
    const bool is_reached = streams().done(place.stream) >= place.count;
    if (!is_reached) streams().advance(place.stream);
    return is_reached;
  }
  void synchronizeEvent(void* event) const override {
    if (event == nullptr) return;
    count_wait("event.synchronize");
    const Event& place = *static_cast<Event*>(event);
    streams().finish(place.stream, place.count);
  }
  double elapsedTime(void* from, void* to, c10::DeviceIndex) const override {
    TORCH_CHECK(from != nullptr && to != nullptr, "events that were never recorded");
    using Milliseconds = std::chrono::duration<double, std::milli>;
    return Milliseconds(static_cast<Event*>(to)->time - static_cast<Event*>(from)->time).count();
  }
};

const c10::impl::DeviceGuardImplRegistrar guard_registrar(c10::DeviceType::PrivateUse1, new Guard);

}  // namespace
}  // namespace s2s::test_device
