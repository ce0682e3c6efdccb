#include "comm/sockets.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <set>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include "s2s/interrupted_calls.h"

namespace s2s {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

constexpr milliseconds kRetry{100};
/// How long a server may take to answer the hello after accepting a connection.
constexpr milliseconds kWelcomeLimit{5000};

/// Closes the socket unless it was taken.
class Socket {
 public:
  explicit Socket(const addrinfo& address)
      : number_(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {}
  ~Socket() {
    if (number_ >= 0) ::close(number_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int number() const { return number_; }
  int take() { return std::exchange(number_, -1); }
  void set(int level, int option) const {
    const int one = 1;
    ::setsockopt(number_, level, option, &one, sizeof(one));
  }

 private:
  int number_;
};

/// Errors: std::runtime_error.
Addresses resolve(const std::string& host, uint16_t port, int flags) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const int code = ::getaddrinfo(host.empty() ? nullptr : host.c_str(),
                                 std::to_string(port).c_str(), &hints, &found);
  if (code != 0) throw std::runtime_error(host + ": " + ::gai_strerror(code));
  return {found, ::freeaddrinfo};
}

/// Waits for the event. Returns false at the deadline.
bool is_ready(int socket, short events, Deadline deadline) {
  while (true) {
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now()).count();
    pollfd waiting = {socket, events, 0};
    // Poll even after the deadline: a process that was stopped may find the event available.
    const auto limit = static_cast<int>(std::clamp<int64_t>(left, 0, 60000));
    if (::poll(&waiting, 1, limit) > 0) return true;
    if (left <= 0) return false;
  }
}

/// Waits for the event. Errors: std::runtime_error at the deadline.
void wait_for(int socket, short events, Deadline deadline) {
  if (!is_ready(socket, events, deadline)) throw std::runtime_error("timed out");
}

[[noreturn]] void fail(int code) { throw std::runtime_error(std::strerror(code)); }

/// Another program listens at the address.
class OtherListener : public std::runtime_error {
 public:
  OtherListener()
      : std::runtime_error(
            "the program at this address did not answer as rank 0 of this run (it is another "
            "program, or a run with another S2S_JOB_TOKEN)") {}
};

void connect_socket(int socket, const addrinfo& address, Deadline deadline) {
  if (socket < 0) fail(errno);
  if (::connect(socket, address.ai_addr, address.ai_addrlen) == 0) return;
  if (errno != EINPROGRESS) fail(errno);
  wait_for(socket, POLLOUT, deadline);
  int code = 0;
  socklen_t size = sizeof(code);
  ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &code, &size);
  if (code != 0) fail(code);
}

int try_to_connect(const addrinfo& address, std::string_view hello, char welcome,
                   Deadline deadline) {
  Socket socket(address);
  connect_socket(socket.number(), address, deadline);
  socket.set(IPPROTO_TCP, TCP_NODELAY);
  socket.set(SOL_SOCKET, SO_KEEPALIVE);
  try {
    const Deadline soon = std::min(deadline, Clock::now() + kWelcomeLimit);
    send_all(socket.number(), hello, soon);
    if (receive(socket.number(), 1, soon)[0] == welcome) return socket.take();
  } catch (const std::runtime_error&) {
  }
  throw OtherListener();
}

/// Returns 0 or the error code.
int listen_with(const Socket& socket, const addrinfo& address) {
  if (socket.number() < 0) return errno;
  socket.set(SOL_SOCKET, SO_REUSEADDR);
  if (address.ai_family == AF_INET6) socket.set(IPPROTO_IPV6, IPV6_V6ONLY);
  if (::bind(socket.number(), address.ai_addr, address.ai_addrlen) != 0) return errno;
  return ::listen(socket.number(), 4096) == 0 ? 0 : errno;
}

}  // namespace

bool is_loopback(const std::string& host) {
  const Addresses found = resolve(host, 0, 0);
  for (const addrinfo* one = found.get(); one != nullptr; one = one->ai_next) {
    const bool is_v4 = one->ai_family == AF_INET;
    const bool is_v6 = one->ai_family == AF_INET6;
    const auto* const v4 = reinterpret_cast<const sockaddr_in*>(one->ai_addr);
    const auto* const v6 = reinterpret_cast<const sockaddr_in6*>(one->ai_addr);
    if (is_v4 && (ntohl(v4->sin_addr.s_addr) >> 24) != 127) return false;
    if (is_v6 && !IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr)) return false;
  }
  return true;
}

std::vector<int> listen_at(const std::string& host, uint16_t port) {
  const Addresses found = resolve(host, port, AI_PASSIVE);
  std::vector<int> out;
  std::set<std::string> seen;  // /etc/hosts may list an address twice
  int problem = EADDRNOTAVAIL;
  for (const addrinfo* one = found.get(); one != nullptr; one = one->ai_next) {
    const std::string address(reinterpret_cast<const char*>(one->ai_addr), one->ai_addrlen);
    if (!seen.insert(address).second) continue;
    Socket socket(*one);
    const int code = listen_with(socket, *one);
    if (code == 0) out.push_back(socket.take());
    // Ignore an unsupported address family when there is another error.
    const bool says_more = code != 0 && code != EAFNOSUPPORT && problem != EADDRINUSE;
    if (says_more) problem = code;
  }
  if (out.empty() || problem == EADDRINUSE) {
    for (const int socket : out) ::close(socket);
    throw std::system_error(problem, std::generic_category(), "listen");
  }
  return out;
}

int connect_to(const std::string& host, uint16_t port, std::string_view hello, char welcome,
               Deadline deadline) {
  std::string reason = "timed out";
  std::string other;  // the first answer of another program at this address
  while (true) {
    try {
      const Addresses found = resolve(host, port, 0);
      for (const addrinfo* one = found.get(); one != nullptr; one = one->ai_next) {
        try {
          return try_to_connect(*one, hello, welcome, deadline);
        } catch (const OtherListener& error) {
          other = reason = error.what();
        } catch (const std::runtime_error& error) {
          reason = error.what();
        }
      }
    } catch (const std::runtime_error& error) {  // the name cannot be resolved yet
      reason = error.what();
    }
    if (Clock::now() + kRetry >= deadline) {
      const bool says_all = other.empty() || reason == other;
      throw std::runtime_error(says_all ? reason : other + "; later: " + reason);
    }
    std::this_thread::sleep_for(kRetry);
  }
}

bool is_readable(int socket, Deadline deadline) { return is_ready(socket, POLLIN, deadline); }

void send_all(int socket, std::string_view bytes, Deadline deadline) {
  InterruptedCalls interrupted;
  while (!bytes.empty()) {
    const ssize_t count = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count >= 0) {
      interrupted.reset();
      bytes.remove_prefix(static_cast<size_t>(count));
    } else if (errno == EAGAIN) {
      wait_for(socket, POLLOUT, deadline);
    } else if (!interrupted.again()) {
      fail(errno);
    }
  }
}

std::string receive(int socket, size_t num_bytes, Deadline deadline) {
  std::string out;
  std::array<char, 16384> buffer{};
  InterruptedCalls interrupted;
  while (out.size() < num_bytes) {
    const size_t wanted = std::min(buffer.size(), num_bytes - out.size());
    const ssize_t count = ::recv(socket, buffer.data(), wanted, 0);
    if (count > 0) {
      interrupted.reset();
      out.append(buffer.data(), static_cast<size_t>(count));
    } else if (count == 0) {
      throw std::runtime_error("Connection closed by peer");
    } else if (errno == EAGAIN) {
      wait_for(socket, POLLIN, deadline);
    } else if (!interrupted.again()) {
      fail(errno);
    }
  }
  return out;
}

}  // namespace s2s
