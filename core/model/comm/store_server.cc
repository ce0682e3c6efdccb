#include "comm/store_server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <system_error>

#include "base/number_text.h"
#include "s2s/interrupted_calls.h"
#include "s2s/threads.h"

namespace s2s {
namespace {

/// Maximum number of connections without a token so far, and the time limit for each to send it.
constexpr size_t kMaxStrangers = 256;
constexpr std::chrono::seconds kHelloLimit{5};

/// The number of fields that a request with one key has; 0 for other requests.
size_t num_fields_of(StoreVerb verb) {
  switch (verb) {
    case StoreVerb::kGet:
    case StoreVerb::kDelete:
      return 1;
    case StoreVerb::kSet:
    case StoreVerb::kAdd:
    case StoreVerb::kAppend:
      return 2;
    case StoreVerb::kSwap:
      return 3;
    default:
      return 0;
  }
}

/// Compares in constant time, so that the duration does not reveal where the difference is.
bool is_equal(std::string_view a, std::string_view b) {
  unsigned char difference = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  }
  return difference == 0;
}

}  // namespace

StoreServer::StoreServer(std::vector<int> listeners, const std::string& token)
    : listeners_(std::move(listeners)),
      hello_(hello_of(token)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  try {
    if (wake_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
    thread_ = start_thread([this] { run(); });
  } catch (...) {
    close_all();
    throw;
  }
}

StoreServer::~StoreServer() {
  const uint64_t one = 1;
  InterruptedCalls interrupted;
  while (::write(wake_, &one, sizeof(one)) < 0 && interrupted.again()) {
  }
  thread_.join();
  close_all();
}

void StoreServer::close_all() {
  for (const Connection& connection : connections_) ::close(connection.socket);
  for (const int listener : listeners_) ::close(listener);
  if (wake_ >= 0) ::close(wake_);
}

void StoreServer::run() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);  // other threads handle the signals of the process
  try {
    serve_all();
  } catch (const std::bad_alloc&) {
    constexpr std::string_view kLine =
        "error: [run/memory] rank 0 has no memory left for the store of this run; the run ends\n";
    [[maybe_unused]] const ssize_t said = ::write(STDERR_FILENO, kLine.data(), kLine.size());
    // The other ranks see the same as if this process had ended.
    for (const Connection& connection : connections_) ::shutdown(connection.socket, SHUT_RDWR);
    for (const int listener : listeners_) ::shutdown(listener, SHUT_RDWR);
  }
}

void StoreServer::serve_all() {
  std::vector<pollfd> watched;
  while (true) {
    watched = {{wake_, POLLIN, 0}};
    for (const int listener : listeners_) watched.push_back({listener, POLLIN, 0});
    for (const Connection& connection : connections_) {
      const short events = connection.output.empty() ? POLLIN : POLLIN | POLLOUT;
      watched.push_back({connection.socket, events, 0});
    }
    ::poll(watched.data(), watched.size(), poll_timeout_ms());
    if (watched[0].revents != 0) return;
    auto seen = watched.begin() + 1 + static_cast<std::ptrdiff_t>(listeners_.size());
    for (Connection& connection : connections_) {
      const short events = (seen++)->revents;
      if ((events & (POLLIN | POLLHUP | POLLERR)) != 0) read_from(connection);
      serve(connection);
    }
    for (size_t i = 0; i < listeners_.size(); ++i) {
      if (watched[1 + i].revents != 0) accept_from(listeners_[i]);
    }
    look_at_waiting();
    for (Connection& connection : connections_) write_to(connection);
    remove_ended();
  }
}

/// Time until the next wait or hello times out.
int StoreServer::poll_timeout_ms() const {
  Clock::time_point next = Clock::time_point::max();
  for (const Connection& connection : connections_) {
    if (!connection.is_known) next = std::min(next, connection.begun + kHelloLimit);
    if (!connection.awaited.empty()) next = std::min(next, connection.wait_until);
  }
  if (next == Clock::time_point::max()) return -1;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(next - Clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count() + 1, 0, 60000));
}

void StoreServer::accept_from(int listener) {
  while (true) {
    const int socket = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket < 0) {
      const bool is_full = errno == EMFILE || errno == ENFILE || errno == ENOBUFS;
      if (!is_full) return;  // no connection is pending
      drop_oldest_stranger();
      ::usleep(1000);
      return;
    }
    if (num_strangers_ >= kMaxStrangers) drop_oldest_stranger();
    Connection& connection = connections_.emplace_back();
    connection.socket = socket;
    connection.begun = Clock::now();
    ++num_strangers_;
  }
}

void StoreServer::drop_oldest_stranger() {
  const auto oldest = std::find_if(connections_.begin(), connections_.end(),
                                   [](const Connection& one) { return !one.is_known; });
  if (oldest == connections_.end()) return;
  ::close(oldest->socket);
  connections_.erase(oldest);
  --num_strangers_;
}

void StoreServer::read_from(Connection& connection) const {
  char buffer[16384];
  // Before the hello, read no more bytes than a hello has.
  const size_t most = connection.is_known ? sizeof(buffer) : hello_.size();
  const ssize_t count = ::recv(connection.socket, buffer, std::min(most, sizeof(buffer)), 0);
  if (count > 0) {
    connection.input.append(buffer, static_cast<size_t>(count));
  } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
    connection.is_over = true;
  }
}

void StoreServer::write_to(Connection& connection) const {
  while (!connection.output.empty() && !connection.is_over) {
    const ssize_t count =
        ::send(connection.socket, connection.output.data(), connection.output.size(), MSG_NOSIGNAL);
    if (count >= 0) {
      connection.output.erase(0, static_cast<size_t>(count));
    } else if (errno == EAGAIN) {
      return;
    } else if (errno != EINTR) {
      connection.is_over = true;
    }
  }
}

void StoreServer::check_hello(Connection& connection) const {
  std::string& input = connection.input;
  const size_t length = std::min(input.size(), hello_.size());
  // The bytes before the token are not secret, so other protocols are disconnected at once.
  const size_t open = std::min(length, hello_of("").size() - sizeof(uint32_t));
  if (input.compare(0, open, hello_, 0, open) != 0) connection.is_over = true;
  if (input.size() < hello_.size()) return;
  if (!is_equal(std::string_view(input).substr(0, hello_.size()), hello_)) {
    connection.is_over = true;
    return;
  }
  connection.is_known = true;
  input.erase(0, hello_.size());
  connection.output += kWelcome;
}

void StoreServer::serve(Connection& connection) {
  if (!connection.is_known) {
    check_hello(connection);
    if (connection.is_known) --num_strangers_;
  }
  while (connection.is_known && !connection.is_over && connection.awaited.empty()) {
    const std::optional<size_t> length = frame_length(connection.input);
    if (length == 0) return;
    std::optional<StoreFrame> request;
    if (length) request = to_frame(std::string_view(connection.input).substr(0, *length));
    if (!request) {
      connection.is_over = true;
      return;
    }
    connection.input.erase(0, *length);
    const std::optional<StoreFrame> said = answer(connection, std::move(*request));
    if (said) {
      connection.output += to_bytes(*said);
    } else if (connection.awaited.empty()) {
      connection.is_over = true;  // not a valid request
    }
  }
}

/// Returns nothing when the connection waits, and when the request is invalid.
std::optional<StoreFrame> StoreServer::answer(Connection& connection, StoreFrame request) {
  std::vector<std::string>& fields = request.fields;
  if (request.verb == StoreVerb::kCount && fields.empty()) {
    return StoreFrame{StoreVerb::kYes, {std::to_string(values_.size())}};
  }
  if (request.verb == StoreVerb::kCheck) {
    return StoreFrame{has_all(fields) ? StoreVerb::kYes : StoreVerb::kNo, {}};
  }
  if (request.verb == StoreVerb::kWait && !fields.empty()) {
    const std::optional<int64_t> limit_ms = read_number<int64_t>(fields.front());
    fields.erase(fields.begin());
    if (!limit_ms) return std::nullopt;
    if (has_all(fields)) return StoreFrame{StoreVerb::kYes, {}};
    connection.awaited = std::move(fields);
    constexpr int64_t kLongestMs = int64_t{1} << 40;
    connection.wait_until =
        Clock::now() + std::chrono::milliseconds(std::clamp<int64_t>(*limit_ms, 0, kLongestMs));
    return std::nullopt;
  }
  return answer_one_key(std::move(request));
}

std::optional<StoreFrame> StoreServer::answer_one_key(StoreFrame request) {
  std::vector<std::string>& fields = request.fields;
  if (fields.empty() || fields.size() != num_fields_of(request.verb)) return std::nullopt;
  const auto found = values_.find(fields[0]);
  const bool is_there = found != values_.end();
  const auto put = [&](std::string value) {
    has_new_keys_ = has_new_keys_ || !is_there;
    return StoreFrame{StoreVerb::kYes, {values_[fields[0]] = std::move(value)}};
  };
  switch (request.verb) {
    case StoreVerb::kSet:
      put(std::move(fields[1]));
      return StoreFrame{StoreVerb::kYes, {}};
    case StoreVerb::kAppend:
      put((is_there ? found->second : "") + fields[1]);
      return StoreFrame{StoreVerb::kYes, {}};
    case StoreVerb::kAdd: {
      const std::optional<int64_t> before = is_there ? read_number<int64_t>(found->second) : 0;
      const std::optional<int64_t> more = read_number<int64_t>(fields[1]);
      int64_t sum = 0;
      if (!before || !more || __builtin_add_overflow(*before, *more, &sum)) {
        return StoreFrame{StoreVerb::kNo, {}};
      }
      return put(std::to_string(sum));
    }
    case StoreVerb::kSwap: {
      const bool is_expected = is_there ? found->second == fields[1] : fields[1].empty();
      if (is_expected) return put(std::move(fields[2]));
      return StoreFrame{StoreVerb::kYes, {is_there ? found->second : fields[1]}};
    }
    case StoreVerb::kGet:
      if (!is_there) return StoreFrame{StoreVerb::kNo, {}};
      return StoreFrame{StoreVerb::kYes, {found->second}};
    default:  // kDelete
      if (is_there) values_.erase(found);
      return StoreFrame{is_there ? StoreVerb::kYes : StoreVerb::kNo, {}};
  }
}

bool StoreServer::has_all(const std::vector<std::string>& keys) const {
  return std::all_of(keys.begin(), keys.end(),
                     [this](const std::string& key) { return values_.contains(key); });
}

void StoreServer::look_at_waiting() {
  const Clock::time_point now = Clock::now();
  for (Connection& connection : connections_) {
    if (!connection.is_known && now > connection.begun + kHelloLimit) connection.is_over = true;
    if (connection.awaited.empty()) continue;
    const bool is_there = has_new_keys_ && has_all(connection.awaited);
    if (!is_there && now < connection.wait_until) continue;
    connection.awaited.clear();
    connection.output += to_bytes({is_there ? StoreVerb::kYes : StoreVerb::kNo, {}});
  }
  has_new_keys_ = false;
}

void StoreServer::remove_ended() {
  for (auto one = connections_.begin(); one != connections_.end();) {
    if (!one->is_over) {
      ++one;
      continue;
    }
    ::close(one->socket);
    if (!one->is_known) --num_strangers_;
    one = connections_.erase(one);
  }
}

}  // namespace s2s
