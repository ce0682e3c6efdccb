// The communicator `gloo`, between processes.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <doctest/doctest.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "common/contains.h"
#include "common/failing_threads.h"
#include "parallel/communicator_contract.h"
#include "parallel/joined_process.h"
#include "parallel/process_ranks.h"

using s2s::test::contains;
using s2s::test::JoinedProcess;
using s2s::test::run_process_ranks;

TEST_CASE("one rank of gloo's contract" * doctest::skip()) {
  at::set_num_threads(1);
  JoinedProcess process("gloo");
  s2s::test::check_communicator(process.world());
}

TEST_CASE("gloo keeps the contract of communicators") {
  for (const int size : {2, 3, 4}) {
    CAPTURE(size);
    CHECK(run_process_ranks(size, "one rank of gloo's contract") ==
          std::vector<int>(static_cast<size_t>(size)));
  }
}

TEST_CASE("one rank of gloo's contract over TCP" * doctest::skip()) {
  at::set_num_threads(1);
  JoinedProcess process("gloo", std::chrono::minutes(2), {{"peer_memory", "false"}});
  s2s::test::check_communicator(process.world());
}

TEST_CASE("gloo keeps the contract without peer memory") {
  CHECK(run_process_ranks(3, "one rank of gloo's contract over TCP") == std::vector<int>(3));
}

TEST_CASE("one rank that adds in rank order" * doctest::skip()) {
  JoinedProcess process("gloo");
  constexpr std::array<double, 3> kValues = {1e8, 1, -1e8};
  const double own = kValues[static_cast<size_t>(process.world().rank())];
  const at::Tensor large = at::full({90000}, own, at::kFloat);
  process.world().all_reduce(large).wait();
  CHECK(at::equal(large, at::zeros({90000})));  // 1e8 + 1 is 1e8 in float32
}

// Gloo's own sum starts each part at another rank, so that some of them would be 1.
TEST_CASE("ranks of one machine read each other's memory") {
  uint64_t value = 0;
  const iovec place = {&value, sizeof value}, nowhere = {nullptr, sizeof value};
  if (::process_vm_readv(::getppid(), &place, 1, &nowhere, 1, 0) == -1 && errno != EFAULT) {
    MESSAGE("skipped: this system does not let processes read each other's memory");
    return;
  }
  CHECK(run_process_ranks(3, "one rank that adds in rank order") == std::vector<int>(3));
}

void check_lost(int64_t num_elements) {
  JoinedProcess process("gloo");
  if (process.world().rank() == 1) ::_exit(0);
  try {
    process.world().all_reduce(at::ones({num_elements}), s2s::Reduction::kSum, "loss").wait();
    FAIL("no error");
  } catch (const s2s::Error& error) {
    CHECK(error.id() == "comm/lost");
    CHECK(contains(error.message(), "rank 0: all_reduce 'loss'"));
  }
}

TEST_CASE("one rank whose partner ends" * doctest::skip()) { check_lost(4); }
TEST_CASE("one rank whose partner ends before a large sum" * doctest::skip()) { check_lost(90000); }

TEST_CASE("a rank of gloo that ends is missed at once") {
  CHECK(run_process_ranks(2, "one rank whose partner ends") == std::vector<int>(2));
  CHECK(run_process_ranks(2, "one rank whose partner ends before a large sum") ==
        std::vector<int>(2));
}

TEST_CASE("one rank that writes to one that closed" * doctest::skip()) {
  JoinedProcess process("gloo");
  int ends[2] = {-1, -1};
  REQUIRE(::pipe(ends) == 0);
  ::close(ends[0]);
  CHECK(::write(ends[1], "x", 1) == -1);
  CHECK(errno == EPIPE);
  ::close(ends[1]);
  process.world().all_reduce(at::ones({4}), s2s::Reduction::kSum, "loss").wait();
}

// Gloo writes to its sockets as if SIGPIPE were ignored. A rank that is done may close its
// connection while another still tells it that it is ready.
TEST_CASE("a rank of gloo outlives a connection that is closed") {
  CHECK(run_process_ranks(2, "one rank that writes to one that closed") == std::vector<int>(2));
}

TEST_CASE("one rank under a limit that changes" * doctest::skip()) {
  JoinedProcess process("gloo", std::chrono::milliseconds(1000));
  s2s::test::check_time_limit(process.world(), [] {
    ::usleep(4000000);
    ::_exit(0);
  });
}

TEST_CASE("ranks of gloo wait as long as they are allowed to at the time") {
  CHECK(run_process_ranks(3, "one rank under a limit that changes") == std::vector<int>(3));
}

TEST_CASE("one rank whose partner does not come" * doctest::skip()) {
  JoinedProcess process("gloo", std::chrono::milliseconds(1000));
  if (process.world().rank() == 1) {
    ::usleep(4000000);
    ::_exit(0);
  }
  try {
    process.world().barrier("epoch").wait();
    FAIL("no error");
  } catch (const s2s::Error& error) {
    CHECK(error.id() == "comm/timeout");
    CHECK(contains(error.message(), "did not end within 1 s"));
  }
}

TEST_CASE("a rank of gloo that does not come is missed after the timeout") {
  CHECK(run_process_ranks(2, "one rank whose partner does not come") == std::vector<int>(2));
}

TEST_CASE("one rank of a group that is not connected" * doctest::skip()) {
  JoinedProcess process("gloo", std::chrono::milliseconds(10000));
  process.world().barrier("joined").wait();
  if (process.world().rank() == 0) ::_exit(0);  // with it, the run's store
  try {
    process.world().subgroup({0, 1}, "data");
    FAIL("no error");
  } catch (const s2s::Error& error) {
    CHECK(error.id() == "comm/lost");
    CHECK(contains(error.message(), "rank 1: the group 'data' lost a rank while it was connected"));
  }
}

TEST_CASE("a group of gloo whose rank has ended is not connected, and says why") {
  CHECK(run_process_ranks(2, "one rank of a group that is not connected") == std::vector<int>(2));
}

TEST_CASE("one rank of a group whose partner does not come" * doctest::skip()) {
  JoinedProcess process("gloo", std::chrono::milliseconds(1000));
  if (process.world().rank() == 1) {
    ::usleep(4000000);
    ::_exit(0);
  }
  try {
    process.world().subgroup({0, 1}, "data");
    FAIL("no error");
  } catch (const s2s::Error& error) {
    CHECK(error.id() == "comm/timeout");
    CHECK(contains(error.message(), "rank 0: the group 'data' was not connected in time"));
  }
}

TEST_CASE("a group of gloo waits for its ranks as long as it may") {
  CHECK(run_process_ranks(2, "one rank of a group whose partner does not come") ==
        std::vector<int>(2));
}

// A group has two threads (the option `threads`): each may fail.
TEST_CASE("one rank without threads for a group" * doctest::skip()) {
  JoinedProcess process("gloo", std::chrono::milliseconds(10000));
  const auto error_of = [&]() -> std::string {
    try {
      process.world().subgroup({0, 1}, "data");
    } catch (const s2s::Error& error) {
      return error.id();
    }
    return "";
  };
  for (const int num_good : {0, 1}) {
    if (process.world().rank() == 0) {
      const std::string id = error_of();  // connections come before threads, and may last longer
      CHECK_MESSAGE((id.empty() || id == "comm/lost"), id);
    } else {
      const s2s::test::FailingThreads failing(num_good);
      CHECK(error_of() == "run/threads");
    }
  }
}

TEST_CASE("a rank of gloo that gets no threads for a group says so") {
  CHECK(run_process_ranks(2, "one rank without threads for a group") == std::vector<int>(2));
}
