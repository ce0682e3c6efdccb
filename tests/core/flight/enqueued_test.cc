// Collectives that a device runs after their `wait`, as NCCL's: a flight record names the one that
// hangs.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <atomic>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include "common/contains.h"
#include "common/temporary_folder.h"
#include "flight/flight_recorder.h"

namespace {

using namespace s2s;
using s2s::test::contains;
using s2s::test::TemporaryFolder;

/// Which collectives the device has done, by the number of their call.
using Done = std::map<int, std::atomic<bool>>;

/// Two ranks with a device that is done when the test says so.
class LateDevice : public Communicator {
 public:
  explicit LateDevice(Done& done) : Communicator({"data", {0, 1}, 0}), done_(done) {}
  at::DeviceType device_type() const override { return at::kMeta; }

 protected:
  struct LateWork : CollectiveWork {
    explicit LateWork(std::atomic<bool>& flag) : is_over(flag) {}
    void wait() override {}
    bool is_done() override { return is_over; }
    std::atomic<bool>& is_over;
  };
  Work start() { return std::make_unique<LateWork>(done_[num_calls_++]); }
  Work start_all_reduce(at::Tensor, Reduction) override { return start(); }
  Work start_all_gather(at::Tensor, at::Tensor) override { return start(); }
  Work start_reduce_scatter(at::Tensor, at::Tensor, Reduction) override { return start(); }
  Work start_broadcast(at::Tensor, int64_t) override { return start(); }
  Work start_all_to_all(at::Tensor, at::Tensor) override { return start(); }
  Work start_send(at::Tensor, int64_t) override { return start(); }
  Work start_recv(at::Tensor, int64_t) override { return start(); }
  Work start_barrier() override { return start(); }
  std::unique_ptr<Communicator> make_subgroup(GroupPlace, const std::string&) override {
    return nullptr;
  }

 private:
  Done& done_;
  int num_calls_ = 0;
};

RankFlight written(FlightRecorder& recorder) {
  std::ifstream file(recorder.write("a test"));
  std::stringstream text;
  text << file.rdbuf();
  return parse_flight(text.str());
}

/// Waits until so many collectives of the only group are finished.
RankFlight after_finishing(FlightRecorder& recorder, int64_t count) {
  RankFlight flight = written(recorder);
  while (flight.groups.at(0).num_finished < count) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    flight = written(recorder);
  }
  return flight;
}

}  // namespace

TEST_CASE(
    "a collective is finished when the device is done with it, and the one that hangs is named") {
  const TemporaryFolder folder;
  Done done;
  FlightRecorder recorder({0, 2}, {.folder = folder.path().string()});
  LateDevice group(done);
  group.set_observer(&recorder);
  recorder.set_step(4);
  recorder.set_phase("update");
  const at::Tensor tensor = at::empty({8}, at::kMeta);
  group.all_reduce(tensor, Reduction::kSum, "layers.1").wait();
  group.all_reduce(tensor, Reduction::kSum, "layers.0").wait();
  done[2] = true;
  group.barrier("end").wait();  // the device is done with it at once
  const RankFlight before = written(recorder);
  CHECK(before.groups.at(0).num_finished == 1);
  CHECK(contains(position_text(before), "step 4, update, in all_reduce 'layers.1'"));
  done[0] = true;
  const RankFlight after = after_finishing(recorder, 2);
  CHECK(after.collectives.at(0).finished_s.has_value());
  CHECK(contains(position_text(after), "in all_reduce 'layers.0' (sum of 32 bytes of Float)"));
  done[1] = true;
  CHECK(contains(position_text(after_finishing(recorder, 3)), "after barrier 'end'"));
}

TEST_CASE("the last report of a rank counts what its device has done by then") {
  const TemporaryFolder folder;
  Done done;
  FlightRecord record;
  const GroupPlace place = {"data", {0, 1}, 0};
  LateDevice group(done);
  {
    EnqueuedWorks works(record);
    struct Observer : CollectiveObserver {
      Observer(FlightRecord& to, EnqueuedWorks& late) : record(to), works(late) {}
      void started(const CollectiveRecord& one, const GroupPlace& at) override {
        record.start(one, at);
      }
      void finished(const CollectiveRecord& one, bool failed) override {
        record.finish(one, failed);
      }
      void enqueued(const CollectiveRecord& one, std::unique_ptr<CollectiveWork> work) override {
        works.add(one, std::move(work));
      }
      FlightRecord& record;
      EnqueuedWorks& works;
    } observer(record, works);
    group.set_observer(&observer);
    group.barrier().wait();
    CHECK(record.movement().is_in_collective);
    done[0] = true;
  }
  CHECK_FALSE(record.movement().is_in_collective);
}

TEST_CASE("a collective whose back end no longer answers has failed") {
  struct Broken : CollectiveWork {
    void wait() override {}
    bool is_done() override { throw std::runtime_error("the context is gone"); }
  };
  FlightRecord record;
  CollectiveRecord one;
  one.group = "data";
  record.start(one, {"data", {0, 1}, 0});
  {
    EnqueuedWorks works(record);
    works.add(one, std::make_unique<Broken>());
  }
  RankFlight flight;
  record.copy_to(flight);
  CHECK(flight.collectives.at(0).failed);
}

TEST_CASE("a record that is smaller than what a device has to run counts what is under way") {
  FlightRecord record(2);
  const GroupPlace place = {"data", {0, 1}, 0};
  CollectiveRecord one;
  one.group = "data";
  for (one.sequence = 0; one.sequence < 3; ++one.sequence) record.start(one, place);
  for (one.sequence = 0; one.sequence < 3; ++one.sequence) {
    CHECK(record.movement().is_in_collective);
    record.finish(one, /*failed=*/false);
  }
  CHECK_FALSE(record.movement().is_in_collective);
}
