#pragma once
// The keys of one start of a run in a store that outlives it. torchrun's agent keeps its store when
// it starts the ranks again. After a change of membership TORCHELASTIC_RESTART_COUNT is the same,
// so only the store can tell the starts apart.

#include <chrono>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "comm/launch_environment.h"

namespace s2s {

/// The key below which a rank's number says that it has taken its seat in a generation.
constexpr const char* kSeatKey = "seat";

class StoreGeneration {
 public:
  /// Rank 0 begins a generation. The other ranks wait up to `timeout` for one in which no process
  /// has their rank yet.
  StoreGeneration(c10::intrusive_ptr<c10d::Store> store, const LaunchEnvironment& launch,
                  std::chrono::milliseconds timeout);

  /// The keys of this generation only.
  c10::intrusive_ptr<c10d::Store> keys() const;
  /// True when rank 0 was started again since, so that nobody will answer in this generation.
  bool is_over() const;

 private:
  std::string newest() const;

  c10::intrusive_ptr<c10d::Store> store_;
  std::string name_;
};

}  // namespace s2s
