// kill -9 of a rank at random moments while checkpoints are written. S2S_TEST_KILLS: how many
// (a few by default; tests/parallel/kill_while_saving.sh makes a hundred).

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <thread>

#include "checkpoint/checkpoint.h"
#include "common/temporary_folder.h"
#include "parallel/cut_model.h"
#include "parallel/joined_process.h"
#include "parallel/process_ranks.h"
#include "weights/verify_weights.h"

using namespace s2s::test;
namespace fs = std::filesystem;

namespace {

constexpr int kRanks = 3;
constexpr const char* kFolder = "S2S_TEST_FOLDER";
constexpr const char* kAsync = "S2S_TEST_ASYNC";

int64_t newest_step(const std::string& folder) {
  int64_t newest = 0;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("step=")) newest = std::max<int64_t>(newest, std::stoll(name.substr(5)));
  }
  return newest;
}

/// What is wrong with a checkpoint, every number of which tells its step; "" for nothing.
std::string find_fault(const std::string& checkpoint) {
  try {
    for (const std::string& finding : s2s::verify_checkpoint(checkpoint).findings) return finding;
    const int64_t step = s2s::steps_of_checkpoint(checkpoint);
    CutModel model;
    const auto parts = cut_parts(model, {Cut::kReplicated, 0, 1}, 0);
    CutOptimizer optimizer(parts, 0);
    s2s::load_model(checkpoint, model, parts);
    const s2s::RunState state = s2s::load_run_state(checkpoint, optimizer, parts);
    if (state.data_state != std::to_string(step)) return "the state is of another step";
    return find_wrong(parts, step) + optimizer.find_wrong(step);
  } catch (const std::exception& error) {
    return error.what();
  }
}

/// Waits until the ranks have saved something, and a random moment more; kills one of them.
void kill_one(const std::vector<pid_t>& ranks, const std::string& folder, int64_t before,
              std::mt19937& random) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (newest_step(folder) <= before && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  std::this_thread::sleep_for(std::chrono::microseconds(random() % 1'500'000));
  ::kill(ranks[random() % ranks.size()], SIGKILL);
}

/// The other ranks end by themselves when one is gone; none is left over.
void end_all(const std::vector<pid_t>& ranks) {
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  for (const pid_t rank : ranks) ::kill(rank, SIGKILL);
  wait_process_ranks(ranks);
}

}  // namespace

TEST_CASE("rank: saves without end" * doctest::skip()) try {
  const std::string folder = std::getenv(kFolder);
  JoinedProcess process("gloo");
  s2s::CheckpointSettings settings;
  settings.world = &process.world();
  settings.mesh.shard = kRanks;
  settings.is_async = std::getenv(kAsync) != nullptr;
  settings.rotation = s2s::Rotation{2};
  s2s::CheckpointFolder checkpoints(folder, {}, settings);
  const std::string newest = checkpoints.newest();
  for (int64_t step = newest.empty() ? 1 : s2s::steps_of_checkpoint(newest) + 1;; ++step) {
    CutModel model;
    auto parts = cut_parts(model, {Cut::kColumns, process.world().rank(), kRanks}, step);
    const CutOptimizer optimizer(parts, step);
    checkpoints.save(parts, optimizer, {step, std::to_string(step)});
    for (const s2s::LocalShard& part : parts) part.tensor.zero_();  // training goes on
    checkpoints.poll();
  }
} catch (const s2s::Error&) {
  // Another rank is gone.
}

TEST_CASE("kill -9 of any rank while saving leaves the previous or the new checkpoint, complete") {
  const char* const asked = std::getenv("S2S_TEST_KILLS");
  const int kills = asked == nullptr ? 3 : std::atoi(asked);
  const TemporaryFolder folder;
  const std::string place = folder / "checkpoints";
  ::setenv(kFolder, place.c_str(), 1);
  std::mt19937 random(static_cast<unsigned>(kills));
  int64_t step = 0;
  int cut_off = 0;
  for (int i = 0; i < kills; ++i) {
    if (i % 2 == 0) ::unsetenv(kAsync);
    if (i % 2 == 1) ::setenv(kAsync, "1", 1);
    const std::vector<pid_t> ranks = start_process_ranks(kRanks, "rank: saves without end");
    kill_one(ranks, place, step, random);
    end_all(ranks);
    for (const auto& entry : fs::directory_iterator(place)) {
      cut_off += entry.path().filename().string().ends_with(".partial") ? 1 : 0;
    }
    CAPTURE(i);
    CHECK(find_fault(place + "/last") == "");  // even before anything is fixed
    const std::string newest = s2s::CheckpointFolder(place, {}).newest();
    CHECK(find_fault(newest) == "");
    CHECK(s2s::steps_of_checkpoint(newest) > step);
    step = s2s::steps_of_checkpoint(newest);
  }
  std::printf("%d kills at random moments: %d cut a save off, step %lld is the newest complete\n",
              kills, cut_off, static_cast<long long>(step));
}
