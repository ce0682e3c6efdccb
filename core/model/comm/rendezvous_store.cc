#include "comm/rendezvous_store.h"

#include <c10/util/Exception.h>
#include <c10/util/Logging.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <memory>
#include <system_error>
#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "base/number_text.h"
#include "base/threads.h"
#include "comm/comm_errors.h"
#include "comm/sockets.h"
#include "s2s/threads.h"

namespace s2s {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

/// Extra time for the answer to a wait request. A stopped server does not answer.
constexpr milliseconds kAnswerGrace{10000};
/// Used for LibTorch's "no limit".
constexpr milliseconds kForever = std::chrono::hours(24 * 365);

std::string text_of(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }
std::vector<uint8_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

milliseconds or_forever(milliseconds limit) {
  return limit <= milliseconds(0) ? kForever : std::min(limit, kForever);
}

/// Reads a frame whose first byte is available. Errors: std::runtime_error.
StoreFrame read_frame(int socket) {
  const Clock::time_point deadline = Clock::now() + kAnswerGrace;
  std::string bytes = receive(socket, 4, deadline);
  bytes += receive(socket, 1, deadline);
  const std::optional<size_t> length = frame_length(bytes);
  if (!length) throw std::runtime_error("an invalid answer");
  size_t left = 0;  // frame_length only says whether the frame is complete
  for (size_t i = 0; i < 4; ++i) left |= size_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  bytes += receive(socket, left - 1, deadline);
  const std::optional<StoreFrame> answer = to_frame(bytes);
  if (!answer) throw std::runtime_error("an invalid answer");
  return *answer;
}

using StorePointer = c10::intrusive_ptr<c10d::Store>;

/// A connected store, or the reason for the failure.
struct Connected {
  StorePointer store;
  std::string reason;
};

/// Connects to the store of torchrun. Another server at this port may never answer, and the client
/// has no time limit for that. Therefore a thread connects, and it can be abandoned.
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
    throw std::runtime_error("no store answers");
  }
  thread.join();
  Connected result = connected.get();
  if (!result.store) throw std::runtime_error(result.reason);
  return std::move(result.store);
}

/// Disables the log of c10d, which repeats each exception with a stack trace. Setting
/// TORCH_CPP_LOG_LEVEL enables it again.
void quieten_log() {
  static const bool kOnce = [] {
    constexpr int kFatalLevel = 3;
    FLAGS_caffe2_log_level = kFatalLevel;
    c10::initLogging();  // reads TORCH_CPP_LOG_LEVEL
    return true;
  }();
  static_cast<void>(kOnce);
}

StorePointer connect_to_launcher(const LaunchEnvironment& launch,
                                 std::chrono::milliseconds timeout) {
  c10d::TCPStoreOptions options;
  options.port = launch.port;
  options.waitWorkers = false;
  options.timeout = timeout;
  return connect(launch.host, options);
}

/// Listens only at the address that the other ranks connect to. On several machines, the host name
/// may resolve to 127.0.1.1 on its own machine (/etc/hosts), to an address outside of this machine
/// (a service), or not yet at all. In these cases, listens at all addresses, where only the token
/// protects the store.
std::vector<int> listen_for(const LaunchEnvironment& launch) {
  const bool is_one_machine = launch.local_size == launch.size;
  try {
    if (is_one_machine || !is_loopback(launch.host)) return listen_at(launch.host, launch.port);
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::address_not_available) throw;
  } catch (const std::runtime_error&) {  // the name cannot be resolved
    if (is_one_machine) throw;
  }
  return listen_at("", launch.port);
}

StorePointer open_own(const LaunchEnvironment& launch, std::chrono::milliseconds timeout) {
  std::shared_ptr<StoreServer> server;
  if (launch.rank == 0) server = std::make_shared<StoreServer>(listen_for(launch), launch.token);
  return c10::make_intrusive<GuardedStore>(StoreAddress{launch.host, launch.port, launch.token},
                                           timeout, std::move(server));
}

double seconds_of(std::chrono::milliseconds time) {
  return static_cast<double>(time.count()) / 1000;
}

}  // namespace

GuardedStore::GuardedStore(StoreAddress address, milliseconds timeout,
                           std::shared_ptr<StoreServer> server)
    : c10d::Store(timeout),
      address_(std::move(address)),
      server_(std::move(server)),
      socket_(connect_to(address_.host, address_.port, hello_of(address_.token), kWelcome,
                         Clock::now() + timeout)) {}

GuardedStore::~GuardedStore() { ::close(socket_); }

c10::intrusive_ptr<c10d::Store> GuardedStore::clone() {
  return c10::make_intrusive<GuardedStore>(address_, timeout_);
}

/// If rank 0 was stopped, its answer arrives late and the connection stays usable. The late answer
/// then precedes the answer to the next request.
StoreFrame GuardedStore::ask(const StoreFrame& request, milliseconds limit) {
  const std::lock_guard lock(mutex_);
  const Clock::time_point deadline = Clock::now() + or_forever(limit);
  bool is_late = false;
  if (broken_.empty()) {
    try {
      send_all(socket_, to_bytes(request), deadline);
      ++num_owed_;
      while (is_readable(socket_, deadline)) {
        StoreFrame answer = read_frame(socket_);
        if (--num_owed_ == 0) return answer;
      }
      is_late = true;
    } catch (const std::runtime_error& error) {
      broken_ = error.what();
    }
  }
  TORCH_CHECK_WITH(DistStoreError, !is_late, "the run's store at ", address_.host, ":",
                   address_.port, " has not answered yet: timed out");
  TORCH_CHECK_WITH(DistNetworkError, false, "the run's store at ", address_.host, ":",
                   address_.port, ": ", broken_);
}

std::string GuardedStore::value_of(const StoreFrame& answer) const {
  TORCH_CHECK_WITH(DistStoreError, answer.verb == StoreVerb::kYes && answer.fields.size() == 1,
                   "the run's store at ", address_.host, ":", address_.port,
                   " returned an unexpected answer");
  return answer.fields[0];
}

void GuardedStore::set(const std::string& key, const std::vector<uint8_t>& value) {
  ask({StoreVerb::kSet, {key, text_of(value)}});
}

std::vector<uint8_t> GuardedStore::compareSet(const std::string& key,
                                              const std::vector<uint8_t>& expected,
                                              const std::vector<uint8_t>& wanted) {
  return bytes_of(value_of(ask({StoreVerb::kSwap, {key, text_of(expected), text_of(wanted)}})));
}

std::vector<uint8_t> GuardedStore::get(const std::string& key) {
  wait({key});
  return bytes_of(value_of(ask({StoreVerb::kGet, {key}})));
}

int64_t GuardedStore::add(const std::string& key, int64_t value) {
  const std::string sum = value_of(ask({StoreVerb::kAdd, {key, std::to_string(value)}}));
  return read_number<int64_t>(sum).value_or(0);
}

bool GuardedStore::deleteKey(const std::string& key) {
  return ask({StoreVerb::kDelete, {key}}).verb == StoreVerb::kYes;
}

bool GuardedStore::check(const std::vector<std::string>& keys) {
  return ask({StoreVerb::kCheck, keys}).verb == StoreVerb::kYes;
}

int64_t GuardedStore::getNumKeys() { return std::stoll(value_of(ask({StoreVerb::kCount, {}}))); }

void GuardedStore::wait(const std::vector<std::string>& keys) { wait(keys, timeout_); }

void GuardedStore::wait(const std::vector<std::string>& keys, const milliseconds& timeout) {
  const milliseconds limit = or_forever(timeout);
  StoreFrame request = {StoreVerb::kWait, {std::to_string(limit.count())}};
  request.fields.insert(request.fields.end(), keys.begin(), keys.end());
  if (ask(request, limit + kAnswerGrace).verb == StoreVerb::kYes) return;
  TORCH_CHECK_WITH(DistStoreError, false, "wait timeout after ", limit.count(),
                   " ms, keys: ", keys.empty() ? "" : keys.front(), keys.size() > 1 ? ", ..." : "");
}

void GuardedStore::append(const std::string& key, const std::vector<uint8_t>& value) {
  ask({StoreVerb::kAppend, {key, text_of(value)}});
}

std::vector<std::vector<uint8_t>> GuardedStore::multiGet(const std::vector<std::string>& keys) {
  std::vector<std::vector<uint8_t>> out;
  wait(keys);
  for (const std::string& key : keys) out.push_back(get(key));
  return out;
}

void GuardedStore::multiSet(const std::vector<std::string>& keys,
                            const std::vector<std::vector<uint8_t>>& values) {
  for (size_t i = 0; i < keys.size(); ++i) set(keys[i], values[i]);
}

std::string reason_of(const std::exception& error) {
  const auto* const of_c10 = dynamic_cast<const c10::Error*>(&error);
  std::string text = of_c10 == nullptr ? error.what() : of_c10->what_without_backtrace();
  return text.substr(0, text.find('\n'));
}

StorePointer open_store_of_one() {
  quieten_log();
  return c10::make_intrusive<c10d::HashStore>();
}

StorePointer open_store(const LaunchEnvironment& launch, std::chrono::milliseconds timeout) {
  quieten_log();
  const auto begun = std::chrono::steady_clock::now();
  const auto waited_s = [&] {
    return seconds_of(std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::steady_clock::now() - begun));
  };
  try {
    if (launch.launcher_has_store) return connect_to_launcher(launch, timeout);
    const StorePointer store = open_own(launch, timeout);
    return c10::make_intrusive<c10d::PrefixStore>("s2s/" + std::to_string(launch.attempt), store);
  } catch (const Error&) {
    throw;
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::address_in_use) throw comm_errors::port_busy(launch.address());
    throw comm_errors::unreachable(launch.address(), launch.rank, waited_s(),
                                   error.code().message());
  } catch (const std::exception& error) {
    throw comm_errors::unreachable(launch.address(), launch.rank, waited_s(), reason_of(error));
  }
}

}  // namespace s2s
