#include "parallel/rendezvous_store.h"

#include <c10/util/Logging.h>

#include <future>
#include <memory>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "parallel/comm_errors.h"

namespace s2s {
namespace {

using StorePointer = c10::intrusive_ptr<c10d::Store>;

/// A store, or why there is none.
struct Connected {
  StorePointer store;
  std::string reason;
};

/// What else may listen at the port does not speak the store's language, and a client would wait
/// for its answer without end: so the connection is made on a thread that may be left behind.
StorePointer connect(const std::string& host, const c10d::TCPStoreOptions& options) {
  auto promise = std::make_shared<std::promise<Connected>>();
  std::future<Connected> connected = promise->get_future();
  std::thread([promise, host, options] {
    Connected result;
    try {
      result.store = c10::make_intrusive<c10d::TCPStore>(host, options);
    } catch (const std::exception& error) {
      result.reason = reason_of(error);
    }
    promise->set_value(std::move(result));
  }).detach();
  const auto grace = std::chrono::seconds(2);
  if (connected.wait_for(options.timeout + grace) != std::future_status::ready) {
    throw std::runtime_error("nobody answers as rank 0 does");
  }
  Connected result = connected.get();
  if (!result.store) throw std::runtime_error(result.reason);
  return std::move(result.store);
}

/// c10d logs what it throws as well, with its stack; the message says it once. Whoever sets
/// LibTorch's own variable gets its logs.
void quieten_log() {
  static const bool kOnce = [] {
    constexpr int kFatal = 3;
    FLAGS_caffe2_log_level = kFatal;
    c10::initLogging();  // reads TORCH_CPP_LOG_LEVEL
    return true;
  }();
  static_cast<void>(kOnce);
}

bool is_busy(const std::string& reason) {
  return reason.find("EADDRINUSE") != std::string::npos ||
         reason.find("already in use") != std::string::npos;
}

}  // namespace

std::string reason_of(const std::exception& error) {
  const auto* const of_c10 = dynamic_cast<const c10::Error*>(&error);
  std::string text = of_c10 == nullptr ? error.what() : of_c10->what_without_backtrace();
  return text.substr(0, text.find('\n'));
}

StorePointer open_store(const LaunchPlace& place, std::chrono::milliseconds timeout) {
  quieten_log();
  c10d::TCPStoreOptions options;
  options.port = place.port;
  options.isServer = place.rank == 0 && !place.launcher_has_store;
  options.waitWorkers = false;
  options.timeout = timeout;
  try {
    const StorePointer store = connect(place.host, options);
    return c10::make_intrusive<c10d::PrefixStore>("s2s/" + std::to_string(place.attempt), store);
  } catch (const std::exception& error) {
    const std::string reason = reason_of(error);
    if (options.isServer && is_busy(reason)) throw comm_errors::port_busy(place.address());
    throw comm_errors::unreachable(place.address(), place.rank,
                                   static_cast<double>(timeout.count()) / 1000, reason);
  }
}

}  // namespace s2s
