// The run's store when its process has no memory left.

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "comm/rendezvous_store.h"
#include "comm/sockets.h"
#include "comm/store_server.h"

namespace {

using namespace s2s;
using std::chrono::milliseconds;

constexpr const char* kSecret = "a token of this run";

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they reserve terabytes

/// A process whose store has little memory. Writes the port to `out` and waits to be killed.
[[noreturn]] void keep_small_store(int out) {
  std::ifstream sizes("/proc/self/statm");
  rlim_t pages = 0;
  sizes >> pages;
  const rlim_t most = pages * static_cast<rlim_t>(::getpagesize()) + (rlim_t{200} << 20);
  const rlimit limit = {most, most};
  ::setrlimit(RLIMIT_AS, &limit);
  const std::vector<int> listeners = listen_at("127.0.0.1", 0);
  sockaddr_in address = {};
  socklen_t size = sizeof(address);
  ::getsockname(listeners.front(), reinterpret_cast<sockaddr*>(&address), &size);
  const uint16_t port = ntohs(address.sin_port);
  const StoreServer server(listeners, kSecret);
  if (::write(out, &port, sizeof(port)) != sizeof(port)) ::_exit(1);
  while (true) ::pause();
}

TEST_CASE("a store whose keeper has no memory left ends, and its process does not") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t keeper = ::fork();
  if (keeper == 0) keep_small_store(ends[1]);
  StoreAddress address{"127.0.0.1", 0, kSecret};
  REQUIRE(::read(ends[0], &address.port, sizeof(uint16_t)) == sizeof(uint16_t));
  GuardedStore store(address, milliseconds(20000));
  const std::vector<uint8_t> value(size_t{16} << 20);
  const auto fill = [&] {
    for (int i = 0; i < 100; ++i) store.set(std::to_string(i), value);
  };
  CHECK_THROWS(fill());
  CHECK(::waitpid(keeper, nullptr, WNOHANG) == 0);
  ::kill(keeper, SIGKILL);
  ::waitpid(keeper, nullptr, 0);
  ::close(ends[0]);
  ::close(ends[1]);
}

#endif

}  // namespace
