#include "s2s/kinds/communicator.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "comm/comm_errors.h"
#include "comm/rank_list.h"
#include "common/collective_log.h"
#include "common/contains.h"

namespace {

using s2s::test::contains;
using Lines = std::vector<std::string>;

/// A back end whose collectives fail with a text.
class Failing : public s2s::Communicator {
 public:
  explicit Failing(std::string reason)
      : Communicator({"data", {0, 2, 4}, 1, std::chrono::milliseconds(1500)}),
        reason_(std::move(reason)) {}
  at::DeviceType device_type() const override { return at::kCPU; }

 protected:
  struct FailingWork : s2s::CollectiveWork {
    explicit FailingWork(std::string text) : reason(std::move(text)) {}
    void wait() override { TORCH_CHECK(false, reason); }
    bool is_done() override { return true; }
    std::string reason;
  };
  Work fail() { return std::make_unique<FailingWork>(reason_); }
  Work start_all_reduce(at::Tensor, s2s::Reduction) override { return fail(); }
  Work start_all_gather(at::Tensor, at::Tensor) override { return fail(); }
  Work start_reduce_scatter(at::Tensor, at::Tensor, s2s::Reduction) override { return fail(); }
  Work start_broadcast(at::Tensor, int64_t) override { return fail(); }
  Work start_all_to_all(at::Tensor, at::Tensor) override { return fail(); }
  Work start_send(at::Tensor, int64_t) override { return fail(); }
  Work start_recv(at::Tensor, int64_t) override { return fail(); }
  Work start_barrier() override { throw std::runtime_error(reason_); }
  std::unique_ptr<Communicator> make_subgroup(s2s::GroupPlace, const std::string&) override {
    return nullptr;
  }

 private:
  std::string reason_;
};

s2s::Error communication_error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const s2s::Error& error) {
    CHECK(error.exit_code() == s2s::ExitCode::kCommunication);
    return error;
  }
  return {s2s::ExitCode::kOk, "none", "no error"};
}

}  // namespace

TEST_CASE("a group of one gives back what it gets") {
  const auto solo = s2s::make_solo_communicator({});
  const at::Tensor in = at::arange(6, at::kFloat).view({2, 3});
  at::Tensor out = at::zeros_like(in);
  solo->all_gather(out, in).wait();
  CHECK(at::equal(out, in));
  out.zero_();
  solo->reduce_scatter(out, in).wait();
  CHECK(at::equal(out, in));
  out.zero_();
  solo->all_to_all(out, in).wait();
  CHECK(at::equal(out, in));
  solo->all_reduce(out, s2s::Reduction::kAverage).wait();
  solo->broadcast(out, 0).wait();
  solo->barrier().wait();
  CHECK(at::equal(out, in));
  CHECK(solo->subgroup({0}, "tensor")->size() == 1);
}

TEST_CASE("the log has every collective with its group, size and name") {
  s2s::CollectiveLog log(3);
  const auto solo = s2s::make_solo_communicator({});
  solo->set_observer(&log);
  const at::Tensor half = at::zeros({4}, at::kBFloat16), whole = at::zeros({4}, at::kFloat);
  solo->barrier("start").wait();
  solo->all_reduce(whole, s2s::Reduction::kMax, "norm").wait();
  solo->broadcast(half, 0).wait();
  const auto shard = solo->subgroup({0}, "shard");
  s2s::Collective gathering = shard->all_gather(half, half, "layers.0");
  CHECK(log.lines() == Lines{"world 1 all_reduce max 16 Float 'norm'",
                             "world 2 broadcast 0 8 BFloat16",
                             "shard 0 all_gather 8 BFloat16 'layers.0'"});
  gathering.wait();
  CHECK(log.entries().back().state == s2s::CollectiveLog::State::kFinished);
  CHECK(log.num_bytes(s2s::CollectiveKind::kAllGather) == 8);
}

TEST_CASE("a collective that fails says which one it is, of which group and ranks") {
  const at::Tensor tensor = at::zeros({4}, at::kFloat);
  s2s::CollectiveLog log;
  Failing late("Timed out waiting 1500ms for recv operation to complete");
  late.set_observer(&log);
  const s2s::Error timeout =
      communication_error_of([&] { late.all_reduce(tensor, {}, "grad_norm").wait(); });
  CHECK(timeout.id() == "comm/timeout");
  CHECK(contains(timeout.message(),
                 "rank 2: all_reduce 'grad_norm' (number 0 of group data, ranks 0, 2, 4; 16 bytes "
                 "of Float) did not end within 1.5 s"));
  CHECK(log.entries().back().state == s2s::CollectiveLog::State::kFailed);

  Failing alone("Connection closed by peer [127.0.0.1]:4711");
  const s2s::Error lost = communication_error_of([&] { alone.recv(tensor, 2, "stage").wait(); });
  CHECK(lost.id() == "comm/lost");
  CHECK(
      contains(lost.message(), "recv 'stage' (number 0 of group data, ranks 0, 2, 4; from rank 4"));

  Failing other("something else");
  CHECK(communication_error_of([&] { other.barrier().wait(); }).id() == "comm/failed");
}

TEST_CASE("mistakes of the caller are assertions") {
  Failing group("never asked");
  const at::Tensor tensor = at::zeros({4, 2}, at::kFloat);
  CHECK_THROWS_AS((void)group.all_reduce(tensor.t()), std::logic_error);
  CHECK_THROWS_AS((void)group.all_gather(tensor, tensor), std::logic_error);
  CHECK_THROWS_AS((void)group.broadcast(tensor, 3), std::logic_error);
  CHECK_THROWS_AS((void)group.subgroup({0, 2}, "without this rank"), std::logic_error);
}

TEST_CASE("a tensor on another device than the group's is an error that says what to start") {
  Failing group("never asked");
  const s2s::Error error = communication_error_of(
      [&] { (void)group.all_reduce(at::empty({4}, at::TensorOptions(at::kMeta))); });
  CHECK(error.id() == "comm/device");
  CHECK(contains(error.message(), "rank 2: group data exchanges tensors on the CPU, and got one"));
  CHECK(contains(error.message(), "on meta"));
  CHECK(contains(error.message(), "start one process for each rank"));
}

TEST_CASE("lists of ranks are short") {
  CHECK(s2s::rank_list({0, 1, 2, 5}) == "0-2, 5");
  CHECK(s2s::rank_list({1, 2}) == "1, 2");
  CHECK(s2s::rank_list({7}) == "7");
}
