#include "comm/rendezvous_store.h"

#include <c10/util/Logging.h>

#include <future>
#include <memory>
#include <system_error>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "base/threads.h"
#include "comm/comm_errors.h"
#include "comm/guarded_store.h"
#include "comm/sockets.h"
#include "s2s/threads.h"

namespace s2s {
namespace {

using StorePointer = c10::intrusive_ptr<c10d::Store>;

/// A store, or why there is none.
struct Connected {
  StorePointer store;
  std::string reason;
};

/// torchrun's own store. What else may listen at the port does not speak the store's language, and
/// a client would wait for its answer without end: so the connection is made on a thread that may
/// be left behind.
StorePointer connect(const std::string& host, const c10d::TCPStoreOptions& options) {
  auto promise = std::make_shared<std::promise<Connected>>();
  std::future<Connected> connected = promise->get_future();
  std::thread thread = start_thread([promise, host, options] {
    Connected result;
    try {
      result.store = c10::make_intrusive<c10d::TCPStore>(host, options);
    } catch (const std::exception& error) {
      result.reason = reason_of(error);
    }
    promise->set_value(std::move(result));
  });
  const auto grace = std::chrono::seconds(2);
  if (connected.wait_for(options.timeout + grace) != std::future_status::ready) {
    leave_behind(std::move(thread));
    throw std::runtime_error("nobody answers as rank 0 does");
  }
  thread.join();
  Connected result = connected.get();
  if (!result.store) throw std::runtime_error(result.reason);
  return std::move(result.store);
}

/// c10d logs what it throws as well, with its stack; the message says it once. Whoever sets
/// LibTorch's own variable gets its logs.
void quieten_log() {
  static const bool kOnce = [] {
    constexpr int kFatalLevel = 3;
    FLAGS_caffe2_log_level = kFatalLevel;
    c10::initLogging();  // reads TORCH_CPP_LOG_LEVEL
    return true;
  }();
  static_cast<void>(kOnce);
}

StorePointer connect_to_launcher(const LaunchPlace& place, std::chrono::milliseconds timeout) {
  c10d::TCPStoreOptions options;
  options.port = place.port;
  options.waitWorkers = false;
  options.timeout = timeout;
  return connect(place.host, options);
}

/// Listens where the other ranks look for rank 0, and nowhere else. On a run of several machines,
/// a name may mean 127.0.1.1 on its own machine (/etc/hosts), an address that leads here by other
/// ways (a service), or nothing yet (a name that is given once its machine answers): then at all
/// addresses, where only the token keeps strangers out.
std::vector<int> listen_for(const LaunchPlace& place) {
  const bool is_one_machine = place.local_size == place.size;
  try {
    if (is_one_machine || !is_loopback(place.host)) return listen_at(place.host, place.port);
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::address_not_available) throw;
  } catch (const std::runtime_error&) {  // the name is not known
    if (is_one_machine) throw;
  }
  return listen_at("", place.port);
}

StorePointer open_own(const LaunchPlace& place, std::chrono::milliseconds timeout) {
  std::shared_ptr<StoreServer> server;
  if (place.rank == 0) server = std::make_shared<StoreServer>(listen_for(place), place.token);
  return c10::make_intrusive<GuardedStore>(StoreAddress{place.host, place.port, place.token},
                                           timeout, std::move(server));
}

double seconds_of(std::chrono::milliseconds time) {
  return static_cast<double>(time.count()) / 1000;
}

}  // namespace

std::string reason_of(const std::exception& error) {
  const auto* const of_c10 = dynamic_cast<const c10::Error*>(&error);
  std::string text = of_c10 == nullptr ? error.what() : of_c10->what_without_backtrace();
  return text.substr(0, text.find('\n'));
}

StorePointer open_store(const LaunchPlace& place, std::chrono::milliseconds timeout) {
  quieten_log();
  const auto begun = std::chrono::steady_clock::now();
  const auto waited_s = [&] {
    return seconds_of(std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::steady_clock::now() - begun));
  };
  try {
    const StorePointer store =
        place.launcher_has_store ? connect_to_launcher(place, timeout) : open_own(place, timeout);
    return c10::make_intrusive<c10d::PrefixStore>("s2s/" + std::to_string(place.attempt), store);
  } catch (const Error&) {
    throw;
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::address_in_use) throw comm_errors::port_busy(place.address());
    throw comm_errors::unreachable(place.address(), place.rank, waited_s(), error.code().message());
  } catch (const std::exception& error) {
    throw comm_errors::unreachable(place.address(), place.rank, waited_s(), reason_of(error));
  }
}

}  // namespace s2s
