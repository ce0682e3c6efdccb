// The communicator `local`: its contract, and what its ranks hear of each other's failures.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <atomic>

#include "common/contains.h"
#include "parallel/communicator_contract.h"
#include "parallel/thread_ranks.h"

using s2s::Communicator;
using s2s::test::contains;
using s2s::test::run_thread_ranks;
using std::chrono::milliseconds;

TEST_CASE("local keeps the contract of communicators") {
  for (const int64_t size : {1, 2, 3, 4, 8}) {
    CAPTURE(size);
    for (const std::string& error : run_thread_ranks(size, s2s::test::check_communicator)) {
      CHECK(error == "");
    }
  }
}

TEST_CASE("local adds in the order of ranks") {
  const auto errors = run_thread_ranks(4, [](Communicator& world) {
    const float values[] = {1e8F, 3.25F, -1e8F, 1.5F};
    const at::Tensor tensor = at::full({1}, values[world.rank()], at::kFloat);
    world.all_reduce(tensor).wait();
    CHECK(tensor.item<float>() == ((1e8F + 3.25F) + -1e8F) + 1.5F);
  });
  CHECK(errors == std::vector<std::string>(4));
}

TEST_CASE("ranks of local that call different collectives are told which") {
  const auto errors = run_thread_ranks(2, [](Communicator& world) {
    const at::Tensor tensor = at::zeros({4}, at::kFloat);
    if (world.rank() == 0) {
      world.all_reduce(tensor, s2s::Reduction::kSum, "loss").wait();
    } else {
      world.broadcast(tensor, 0).wait();
    }
  });
  for (const std::string& error : errors) {
    CHECK(contains(error, "[comm/failed]"));
    CHECK(contains(error, "all_reduce sum of 4 Float"));
    CHECK(contains(error, "broadcast from 0"));
  }
}

TEST_CASE("a rank of local that does not come is named after the timeout") {
  std::atomic<bool> has_heard = false;
  const auto errors = run_thread_ranks(
      3,
      [&](Communicator& world) {
        if (world.rank() == 2) {
          while (!has_heard) std::this_thread::yield();
          return;
        }
        try {
          world.barrier("epoch").wait();
        } catch (const s2s::Error&) {
          has_heard = true;
          throw;
        }
      },
      milliseconds(300));
  // Both wait equally long; whoever is told second may hear that the first has left.
  const int told = contains(errors[0], "[comm/timeout] rank 0:") ? 0 : 1;
  const std::string message =
      "[comm/timeout] rank " + std::to_string(told) + ": barrier 'epoch' (number 0 of group world";
  INFO(errors[0], errors[1]);
  CHECK(contains(errors[told], message));
  CHECK(contains(errors[told], "not called by rank 2"));
}

TEST_CASE("ranks of local wait as long as they are allowed to at the time") {
  const auto body = [](Communicator& world) { s2s::test::check_time_limit(world, [] {}); };
  CHECK(run_thread_ranks(3, body, milliseconds(1000)) == std::vector<std::string>(3));
}

TEST_CASE("a rank of local that throws ends the others at once") {
  const auto errors = run_thread_ranks(3, [](Communicator& world) {
    const std::unique_ptr<Communicator> group = world.subgroup({0, 1, 2}, "data");
    if (world.rank() == 1) throw std::runtime_error("out of memory");
    group->barrier().wait();
  });
  CHECK(errors[1] == "out of memory");
  CHECK(contains(errors[0], "[comm/lost]"));
  CHECK(contains(errors[2], "rank 1 ended by an error"));
}
