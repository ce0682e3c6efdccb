// The run's store: what it keeps, and what it answers to strangers.

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <future>
#include <thread>

#include "comm/rendezvous.h"
#include "comm/rendezvous_store.h"
#include "comm/sockets.h"
#include "common/contains.h"
#include "s2s/error.h"

namespace {

using namespace s2s;
using s2s::test::contains;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr const char* kToken = "a token of this run";

uint16_t port_of(int socket) {
  sockaddr_in address = {};
  socklen_t size = sizeof(address);
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

/// A server at a port of its own, and stores that are connected to it.
struct Served {
  explicit Served(const std::string& token = kToken) {
    const std::vector<int> listeners = listen_at("127.0.0.1", 0);
    address = {"127.0.0.1", port_of(listeners.front()), token};
    server = std::make_unique<StoreServer>(listeners, token);
  }
  c10::intrusive_ptr<GuardedStore> store(milliseconds timeout = milliseconds(20000)) const {
    return c10::make_intrusive<GuardedStore>(address, timeout);
  }
  StoreAddress address;
  std::unique_ptr<StoreServer> server;
};

/// A connection of somebody who knows nothing.
class Stranger {
 public:
  explicit Stranger(uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    REQUIRE(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
  }
  ~Stranger() { ::close(socket_); }
  void say(const std::string& bytes) const {
    ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  /// All that comes until the server closes.
  std::string receive() const {
    std::string out;
    char buffer[256];
    for (ssize_t count; (count = ::recv(socket_, buffer, sizeof(buffer), 0)) > 0;) {
      out.append(buffer, static_cast<size_t>(count));
    }
    return out;
  }

 private:
  int socket_;
};

std::string error_of(const std::function<void()>& body) {
  try {
    body();
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

/// Ranks of one machine that meet as threads. What each heard: "" when the run may start.
std::vector<std::string> meet(uint16_t port, const std::vector<std::string>& tokens,
                              const std::function<void()>& meanwhile = {},
                              milliseconds timeout = milliseconds(20000)) {
  std::vector<std::string> heard(tokens.size());
  std::vector<std::thread> threads;
  const auto size = static_cast<int64_t>(tokens.size());
  for (int64_t rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      LaunchEnvironment launch;
      launch.rank = launch.local_rank = rank;
      launch.size = launch.local_size = size;
      launch.port = port;
      launch.token = tokens[static_cast<size_t>(rank)];
      heard[static_cast<size_t>(rank)] = error_of([&] {
        const Rendezvous met(launch, {}, {timeout, timeout});
      });
    });
    if (rank == 0 && meanwhile) meanwhile();
  }
  for (std::thread& thread : threads) thread.join();
  return heard;
}

uint16_t free_port() {
  const int socket = listen_at("127.0.0.1", 0).front();
  const uint16_t port = port_of(socket);
  ::close(socket);
  return port;
}

/// Waits until somebody listens there.
void wait_for_listener(uint16_t port) {
  for (int i = 0; i < 2000; ++i) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    const bool is_there =
        ::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    ::close(socket);
    if (is_there) return;
    ::usleep(1000);
  }
}

/// Local addresses, as /proc/net/tcp writes them, at which somebody listens with this port.
std::vector<std::string> listening_at(uint16_t port) {
  std::vector<std::string> out;
  char end[8];
  std::snprintf(end, sizeof(end), ":%04X", port);
  for (const char* file : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream lines(file);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string number, local, peer, state;
      words >> number >> local >> peer >> state;
      if (state == "0A" && local.ends_with(end)) out.push_back(local.substr(0, local.find(':')));
    }
  }
  return out;
}

}  // namespace

TEST_CASE("a store keeps what c10d stores keep") {
  const Served served;
  const auto store = served.store();
  store->set("a", std::string("\0 b", 3));
  CHECK(store->get_to_str("a") == std::string("\0 b", 3));
  CHECK(store->add("n", 3) == 3);
  CHECK(store->add("n", -5) == -2);
  CHECK(store->check({"a", "n"}));
  CHECK_FALSE(store->check({"a", "none"}));
  CHECK(store->compareSet("swap", "", "1") == "1");
  CHECK(store->compareSet("swap", "2", "3") == "1");
  CHECK(store->compareSet("swap", "1", "3") == "3");
  CHECK(store->compareSet("none", "x", "y") == "x");
  store->append("list", {'1'});
  store->append("list", {'2'});
  CHECK(store->get_to_str("list") == "12");
  store->multiSet({"m1", "m2"}, {{'1'}, {}});
  CHECK(store->multiGet({"m1", "m2"}) == std::vector<std::vector<uint8_t>>{{'1'}, {}});
  CHECK(store->getNumKeys() == 6);
  CHECK(store->deleteKey("m1"));
  CHECK_FALSE(store->deleteKey("m1"));
  const std::string large(3000000, 'x');
  store->set("large", large);
  CHECK(store->clone()->get_to_str("large") == large);
  CHECK(contains(error_of([&] { store->add("a", 1); }), "an unexpected answer"));
}

TEST_CASE("a waiting rank is answered at once, or after the limit") {
  const Served served;
  const auto store = served.store();
  CHECK(contains(error_of([&] { store->wait({"late", "later"}, milliseconds(20)); }), "timeout"));
  std::thread other([&] {
    const auto its = served.store();
    its->set("late", "1");
    ::usleep(10000);
    its->set("later", "2");
  });
  store->wait({"late", "later"}, milliseconds(20000));
  CHECK(store->get_to_str("later") == "2");
  other.join();
}

TEST_CASE("a store whose keeper has gone says so") {
  Served served;
  const auto store = served.store();
  served.server.reset();
  CHECK(contains(error_of([&] { store->add("n", 1); }), "onnection"));
  CHECK(contains(error_of([&] { store->set("a", "1"); }), "onnection"));
}

TEST_CASE("strangers get no answer, whatever they send") {
  const Served served;
  const std::string hello = hello_of(kToken);
  std::vector<std::string> sayings = {"GET / HTTP/1.0\r\n\r\n", std::string(100000, '\0'),
                                      hello_of("another token"), hello_of("a token of this ruN"),
                                      std::string("\0\x3c\x85\xf7\x3c", 5)};  // c10d's
  std::string longer = hello;
  longer[sizeof("s2s-store-1:") - 1] = '\x7f';  // a longer token than there is
  sayings.push_back(longer);
  for (const std::string& saying : sayings) {
    const Stranger stranger(served.address.port);
    stranger.say(saying + std::string(200, '!'));
    CHECK(stranger.receive().empty());
  }
  CHECK(served.store()->getNumKeys() == 0);
}

TEST_CASE("one that knows the token and then talks nonsense is sent away, and others are served") {
  const Served served;
  const auto store = served.store();
  for (const std::string& nonsense :
       {std::string(8, '\xff'), std::string(8, '\0'), std::string("\x05\0\0\0s\xff\xff\xff\xff", 9),
        std::string("\x01\0\0\0s", 5), std::string("\x01\0\0\0?", 5)}) {
    const Stranger friendly(served.address.port);
    friendly.say(hello_of(kToken) + nonsense);
    CHECK(friendly.receive() == std::string(1, kWelcome));
  }
  CHECK(store->add("n", 1) == 1);
}

TEST_CASE("a thousand connections that say nothing keep no rank out") {
  const Served served;
  std::vector<std::unique_ptr<Stranger>> strangers;
  for (int i = 0; i < 700; ++i) {
    strangers.push_back(std::make_unique<Stranger>(served.address.port));
    if (i % 2 == 0) strangers.back()->say("s");
  }
  CHECK(served.store()->add("n", 1) == 1);
}

TEST_CASE("ranks meet although strangers talk to their store") {
  const uint16_t port = free_port();
  std::vector<std::unique_ptr<Stranger>> strangers;
  const auto heard = meet(port, {kToken, kToken, kToken}, [&] {
    wait_for_listener(port);
    for (int i = 0; i < 100; ++i) {
      strangers.push_back(std::make_unique<Stranger>(port));
      strangers.back()->say(i % 2 == 0 ? "x" : "s2s-st");
    }
  });
  CHECK(heard == std::vector<std::string>{"", "", ""});
}

TEST_CASE("a rank of another run learns that it is in the wrong place, and does not disturb") {
  const auto heard = meet(free_port(), {kToken, kToken, "another"}, {}, milliseconds(1500));
  CHECK(contains(heard[0], "[comm/missing-rank] 1 of 3 ranks"));
  CHECK(contains(heard[1], "[comm/missing-rank]"));
  CHECK(contains(heard[2], "[comm/unreachable] rank 2 could not connect to rank 0"));
  CHECK(contains(heard[2], "S2S_JOB_TOKEN"));
}

TEST_CASE("a rank of another run says so although that run has ended") {
  auto served = std::make_unique<Served>();
  const StoreAddress wrong{"127.0.0.1", served->address.port, "another"};
  auto heard = std::async(std::launch::async, [&] {
    return error_of([&] { const GuardedStore store(wrong, milliseconds(2000)); });
  });
  std::this_thread::sleep_for(milliseconds(700));
  served.reset();
  const std::string text = heard.get();
  CHECK(contains(text, "S2S_JOB_TOKEN); later: Connection refused"));
}

TEST_CASE("texts that no rank has written end the start with a message for all") {
  for (const std::string text : {"not json\033[2J", "[]", "{\"host\": 1}", "[[[[[", "", "\xff"}) {
    const uint16_t port = free_port();
    const auto heard = meet(port, {kToken, kToken, kToken}, [&] {
      // One that knows the token: a defect, or an enemy within.
      const auto store = c10::make_intrusive<GuardedStore>(StoreAddress{"127.0.0.1", port, kToken},
                                                           milliseconds(20000));
      store->set("s2s/0/rank/1", text);
      store->set("s2s/0/rank/2", text);
      store->wait({"s2s/0/verdict"}, milliseconds(20000));
    });
    CHECK(contains(heard[0], "[comm/introduction] the message of rank 1"));
    CHECK(contains(heard[1], "[comm/introduction] rank 1 does not start"));
    CHECK(contains(heard[2], "[comm/introduction] rank 2 does not start"));
  }
}

TEST_CASE("a verdict that rank 0 has not written ends the others with a message") {
  const Served served;
  served.store()->set("s2s/0/verdict", std::string("{\"identities\": 7}"));
  LaunchEnvironment launch;
  launch.rank = 1;
  launch.size = 2;
  launch.port = served.address.port;
  launch.token = kToken;
  const milliseconds timeout(20000);
  CHECK(contains(error_of([&] {
                   const Rendezvous met(launch, {}, {timeout, timeout});
                 }),
                 "[comm/introduction] the message of rank 0"));
}

TEST_CASE("rank 0 listens at its address, and nowhere else") {
  const uint16_t port = free_port();
  std::vector<std::string> found;
  const auto heard = meet(port, {kToken, kToken}, [&] {
    wait_for_listener(port);
    found = listening_at(port);
  });
  CHECK(heard == std::vector<std::string>{"", ""});
  CHECK(found == std::vector<std::string>{"0100007F"});
}

TEST_CASE("a store whose keeper was halted for a while is as good as before") {
  const int listener = listen_at("127.0.0.1", 0).front();
  const Deadline late = Clock::now() + milliseconds(20000);
  std::promise<void> goes_on;
  std::thread keeper([&] {
    pollfd waiting = {listener, POLLIN, 0};
    ::poll(&waiting, 1, 20000);
    const int socket = ::accept(listener, nullptr, nullptr);
    receive(socket, hello_of(kToken).size(), late);
    send_all(socket, std::string(1, kWelcome), late);
    const size_t asked = to_bytes({StoreVerb::kAdd, {"a", "1"}}).size();
    receive(socket, asked, late);
    goes_on.get_future().wait();
    send_all(socket, to_bytes({StoreVerb::kYes, {"7"}}), late);
    receive(socket, asked, late);
    send_all(socket, to_bytes({StoreVerb::kYes, {"8"}}), late);
    ::close(socket);
  });
  {
    GuardedStore store({"127.0.0.1", port_of(listener), kToken}, milliseconds(200));
    CHECK(contains(error_of([&] { store.add("a", 1); }), "has not answered yet"));
    goes_on.set_value();
    CHECK(store.add("a", 1) == 8);
  }
  keeper.join();
  ::close(listener);
}

TEST_CASE("names of this machine are known as such") {
  CHECK(is_loopback("127.0.0.1"));
  CHECK(is_loopback("127.0.1.1"));
  CHECK(is_loopback("localhost"));
  CHECK_FALSE(is_loopback("192.0.2.1"));
}

TEST_CASE("frames come whole, or are none") {
  const StoreFrame frame = {StoreVerb::kSet, {"key", std::string("\0\n", 2), ""}};
  const std::string bytes = to_bytes(frame);
  for (size_t cut = 0; cut < bytes.size(); ++cut) CHECK(frame_length(bytes.substr(0, cut)) == 0);
  CHECK(frame_length(bytes + "more") == bytes.size());
  const auto read = to_frame(bytes);
  REQUIRE(read);
  CHECK(read->verb == frame.verb);
  CHECK(read->fields == frame.fields);
  CHECK_FALSE(frame_length(std::string("\xff\xff\xff\x7f", 4)));
  CHECK_FALSE(frame_length(std::string(4, '\0')));
  CHECK_FALSE(to_frame(bytes.substr(0, bytes.size() - 1)));
}
