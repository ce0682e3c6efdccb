#pragma once
// Streams and events of the test device. What a stream is given runs as late as a device may: when
// somebody waits for it, or when the stream is given an operator.

#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <mutex>
#include <string>
#include <vector>

namespace s2s::test_device {

inline c10::Device this_device() { return {c10::DeviceType::PrivateUse1, 0}; }

/// What a stream is given. memory: the beginnings of the storages that it reads or writes.
struct Job {
  std::function<void()> run;
  std::vector<const void*> memory;
};

class Streams {
 public:
  static constexpr c10::StreamId kDefault = 0;
  static constexpr size_t kCount = 9;  // the default one, and those that others take
  static constexpr int64_t kAll = std::numeric_limits<int64_t>::max();

  void submit(c10::StreamId stream, Job job);
  /// Runs what `stream` was given, in order: the first `count` jobs of its life, or all.
  void finish(c10::StreamId stream, int64_t count = kAll);
  void finish_all();
  /// Runs all of `stream` when a job of it uses `memory`.
  void finish_uses(c10::StreamId stream, const void* memory);
  /// Whether a job that has not run uses `memory`.
  bool is_used(const void* memory);
  /// Jobs of its life so far.
  int64_t given(c10::StreamId stream);
  int64_t done(c10::StreamId stream);
  bool is_idle(c10::StreamId stream);
  /// Runs one job, as if time had passed.
  void advance(c10::StreamId stream);
  c10::StreamId take_from_pool();

  /// Guards all state of the device.
  std::recursive_mutex& mutex() { return mutex_; }

 private:
  struct Queue {
    std::deque<Job> jobs;
    int64_t given = 0;
    int64_t done = 0;
  };
  Queue& queue(c10::StreamId stream) { return queues_.at(static_cast<size_t>(stream)); }
  void run_first(Queue& queue);

  std::recursive_mutex mutex_;
  std::array<Queue, kCount> queues_;
  size_t next_of_pool_ = 0;
};

Streams& streams();

/// Of the calling thread.
c10::StreamId current_stream();

}  // namespace s2s::test_device
