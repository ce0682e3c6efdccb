// Ranks are threads here; tests/launchers has them as processes.

#include "comm/rendezvous.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "common/contains.h"
#include "s2s/error.h"

namespace {

using s2s::test::contains;
using Facts = std::vector<s2s::AgreedFact>;
using std::chrono::milliseconds;

/// A socket that listens at a port of its own.
class Listener {
 public:
  Listener() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    REQUIRE(::bind(socket_, any, size) == 0);
    REQUIRE(::listen(socket_, 8) == 0);
    ::getsockname(socket_, any, &size);
    port_ = ntohs(address.sin_port);
  }
  ~Listener() { ::close(socket_); }
  uint16_t port() const { return port_; }

 private:
  int socket_;
  uint16_t port_;
};

uint16_t unused_port() { return Listener().port(); }

/// One process of a run.
struct Member {
  int64_t rank;
  int64_t size;
  Facts facts;
};

/// The answer to each rank: "" when the run may start, else "id: message".
std::vector<std::string> meet(const std::vector<Member>& members, uint16_t port,
                              milliseconds timeout) {
  std::vector<std::string> heard(members.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < members.size(); ++i) {
    threads.emplace_back([&, i] {
      s2s::LaunchEnvironment launch;
      launch.rank = members[i].rank;
      launch.size = members[i].size;
      launch.port = port;
      try {
        const s2s::Rendezvous met(launch, members[i].facts, {timeout, timeout});
        if (static_cast<int64_t>(met.identities().size()) != launch.size) heard[i] = "identities";
        if (met.process().store == nullptr) heard[i] = "no store";
      } catch (const s2s::Error& error) {
        heard[i] = error.id() + ": " + error.message();
        if (error.exit_code() != s2s::ExitCode::kCommunication) heard[i] += " (exit code)";
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return heard;
}

}  // namespace

TEST_CASE("ranks that agree meet") {
  const Facts facts = {{"program", "1"}};
  const auto heard =
      meet({{0, 3, facts}, {1, 3, facts}, {2, 3, facts}}, unused_port(), milliseconds(20000));
  CHECK(heard == std::vector<std::string>{"", "", ""});
}

TEST_CASE("one process needs nobody") {
  const s2s::Rendezvous alone({}, {}, {});
  CHECK(alone.process().store == nullptr);
  CHECK(alone.identities().size() == 1);
}

TEST_CASE("ranks that differ learn in what, before anything else") {
  const auto heard = meet({{0, 3, {{"trainer.seed", "1"}, {"x", "y"}}},
                           {1, 3, {{"trainer.seed", "2"}, {"x", "y"}}},
                           {2, 3, {{"trainer.seed", "1"}}}},
                          unused_port(), milliseconds(20000));
  CHECK(contains(heard[0], "comm/ranks-differ: "));
  CHECK(contains(heard[0], "trainer.seed: 1 (ranks 0, 2), 2 (rank 1)"));
  CHECK(contains(heard[0], "x: y (ranks 0, 1), missing (rank 2)"));
  CHECK(contains(heard[1], "comm/ranks-differ: rank 1 does not start"));
  CHECK(contains(heard[2], "comm/ranks-differ: rank 2 does not start"));
}

TEST_CASE("a rank that never comes is named") {
  const auto heard = meet({{0, 3, {}}, {2, 3, {}}}, unused_port(), milliseconds(1500));
  CHECK(contains(heard[0], "comm/missing-rank: 1 of 3 ranks did not join within 1.5 s: 1"));
  CHECK(contains(heard[0], "process " + std::to_string(::getpid())));
  CHECK(contains(heard[1], "comm/missing-rank: rank 2 does not start"));
}

TEST_CASE("two processes of one rank are named") {
  const auto heard = meet({{0, 3, {}}, {1, 3, {}}, {1, 3, {}}}, unused_port(), milliseconds(5000));
  int num_first = 0;
  for (const std::string& text : heard) {
    CHECK(contains(text, "comm/duplicate-rank: "));
    num_first += contains(text, "two processes are rank 1") ? 1 : 0;
  }
  CHECK(num_first >= 2);  // rank 0 and the one that came second
}

TEST_CASE("ranks with other numbers of ranks are named") {
  const auto unequal = meet({{0, 2, {}}, {1, 3, {}}}, unused_port(), milliseconds(5000));
  CHECK(contains(unequal[0], "number of ranks: 2 (rank 0), 3 (rank 1)"));
}

TEST_CASE("a port in use, and a rank 0 that is something else, end the start") {
  const Listener other;
  const auto heard = meet({{0, 2, {}}, {1, 2, {}}}, other.port(), milliseconds(1500));
  CHECK(contains(heard[0], "comm/port-busy: "));
  CHECK(contains(heard[0], "127.0.0.1:" + std::to_string(other.port())));
  CHECK(contains(heard[1], "comm/unreachable: "));
}

TEST_CASE("a rank 0 that is not there ends the start") {
  const auto heard = meet({{1, 2, {}}}, unused_port(), milliseconds(1500));
  CHECK(contains(heard[0], "comm/unreachable: rank 1 could not connect to rank 0 at 127.0.0.1:"));
}

TEST_CASE("many differences are cut short") {
  std::vector<Facts> facts(2);
  for (int i = 0; i < 30; ++i) {
    facts[0].push_back({"key" + std::to_string(i), "1"});
    facts[1].push_back({"key" + std::to_string(i), "2"});
  }
  const std::vector<std::string> lines = s2s::fact_differences(facts);
  CHECK(lines.size() == 21);
  CHECK(lines.back() == "... and 10 more");
}
