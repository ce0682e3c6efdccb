#include "comm/store_generation.h"

#include <unistd.h>

#include <random>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

namespace s2s {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kKey = "s2s/generation";

std::string random_name() {
  std::random_device device;
  return std::to_string(device()) + "-" + std::to_string(device());
}

}  // namespace

StoreGeneration::StoreGeneration(c10::intrusive_ptr<c10d::Store> store,
                                 const LaunchEnvironment& launch, std::chrono::milliseconds timeout)
    : store_(std::move(store)) {
  if (launch.rank == 0) {
    name_ = random_name();
    store_->set(kKey, name_);
    return;
  }
  const Clock::time_point end = Clock::now() + timeout;
  store_->wait({kKey}, timeout);
  const std::string seat = std::string(kSeatKey) + "/" + std::to_string(launch.rank);
  for (name_ = newest(); keys()->check({seat}) && Clock::now() < end; name_ = newest()) {
    ::usleep(20000);
  }
}

std::string StoreGeneration::newest() const { return store_->get_to_str(kKey); }

c10::intrusive_ptr<c10d::Store> StoreGeneration::keys() const {
  return c10::make_intrusive<c10d::PrefixStore>("s2s/" + name_, store_);
}

bool StoreGeneration::is_over() const { return newest() != name_; }

}  // namespace s2s
