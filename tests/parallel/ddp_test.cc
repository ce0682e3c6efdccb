// The strategy `ddp` against one process that accumulates as many batches as there are ranks.

#include <doctest/doctest.h>

#include "common/collective_log.h"
#include "parallel/joined_process.h"
#include "parallel/process_ranks.h"
#include "parallel/replicated_run.h"
#include "parallel/thread_ranks.h"

using namespace s2s;
using namespace s2s::test;

namespace {

constexpr double kTolerance = 1e-5;

/// Every parameter is a bucket.
Config small_buckets() {
  Config options = Config::map();
  options["bucket_cap_mb"] = Config::scalar("0");
  return options;
}

/// Loads what the runs need, on one thread.
void load(BuiltPlugins& plugins) {
  plugins.registries().get<ParallelStrategy>("ddp");
  plugins.registries().get<ParallelStrategy>("single");
  plugins.registries().get<Optimizer>("adamw");
}

}  // namespace

TEST_CASE("ddp equals one process, with threads as ranks") {
  BuiltPlugins plugins;
  load(plugins);
  for (const auto& [size, accumulate] : {std::pair{2, 1}, {2, 3}, {3, 2}, {4, 1}}) {
    CAPTURE(size);
    CAPTURE(accumulate);
    const TrainedRun one =
        train_replicated(plugins.registries(), "single", nullptr, size * accumulate);
    CHECK(one.grad_norms.size() == 10);
    std::vector<double> differences(static_cast<size_t>(size), 1);
    const auto errors = run_thread_ranks(size, [&, accumulate = accumulate](Communicator& world) {
      const TrainedRun run =
          train_replicated(plugins.registries(), "ddp", &world, accumulate, small_buckets());
      differences[static_cast<size_t>(world.rank())] = largest_difference(one, run);
    });
    CHECK(errors == std::vector<std::string>(static_cast<size_t>(size)));
    for (const double difference : differences) CHECK(difference < kTolerance);
  }
}

TEST_CASE("ddp's ranks call the same collectives, one reduction a bucket and step") {
  BuiltPlugins plugins;
  load(plugins);
  std::vector<CollectiveLog> logs(2);
  const auto errors = run_thread_ranks(2, [&](Communicator& world) {
    world.set_observer(&logs[static_cast<size_t>(world.rank())]);
    train_replicated(plugins.registries(), "ddp", &world, 2, small_buckets());
  });
  CHECK(errors == std::vector<std::string>(2));
  CHECK(logs[0].lines() == logs[1].lines());
  size_t num_reductions = 0;
  for (const CollectiveLog::Entry& entry : logs[0].entries()) {
    num_reductions +=
        entry.record.kind == CollectiveKind::kAllReduce && entry.record.group == "replicate" ? 1
                                                                                             : 0;
    CHECK(entry.state == CollectiveLog::State::kFinished);
  }
  CHECK(num_reductions == 10 * 8);  // four trained layers of two parameters
}

TEST_CASE("ddp in one process is the plain run") {
  BuiltPlugins plugins;
  load(plugins);
  const TrainedRun one = train_replicated(plugins.registries(), "single", nullptr, 2);
  const TrainedRun ddp = train_replicated(plugins.registries(), "ddp", nullptr, 2);
  CHECK(largest_difference(one, ddp) == 0);
}

TEST_CASE("one rank of ddp" * doctest::skip()) {
  BuiltPlugins plugins;
  load(plugins);
  JoinedProcess process("gloo");
  const auto size = process.world().size();
  const TrainedRun one = train_replicated(plugins.registries(), "single", nullptr, 2 * size);
  const TrainedRun run = train_replicated(plugins.registries(), "ddp", &process.world(), 2);
  CHECK(largest_difference(one, run) < kTolerance);
}

TEST_CASE("ddp equals one process, with processes as ranks") {
  CHECK(run_process_ranks(2, "one rank of ddp") == std::vector<int>(2));
}

TEST_CASE("ddp refuses a size that was not started") {
  BuiltPlugins plugins;
  Config node = Config::map();
  node["name"] = Config::scalar("ddp");
  node["data_parallel_size"] = Config::scalar("2");
  CHECK_THROWS_WITH_AS(plugins.create<ParallelStrategy>(node),
                       doctest::Contains("the mesh has 2 ranks"), Error);
  node["data_parallel_size"] = Config::scalar("two");
  CHECK_THROWS_WITH_AS(plugins.create<ParallelStrategy>(node), doctest::Contains("expected auto"),
                       Error);
}
