// A run of one process: without a communicator, unless the configuration names one.
#include <doctest/doctest.h>

#include "cli/train/tiny_run.h"
#include "common/contains.h"
#include "common/places.h"

namespace {

using namespace s2s::test;

Outcome train_with(const std::filesystem::path& run, const Words& more,
                   const std::map<std::string, std::string>& environment = {}) {
  const Words words = with({"trainer.max_steps=3", "model.lr_scheduler.max_steps=10",
                            "trainer.val_check_interval=100", "trainer.accelerator=cpu"},
                           more);
  return run_s2s(tiny_words("train", run, words), environment);
}

std::vector<double> losses_of(const std::filesystem::path& run) {
  std::vector<double> all;
  for (const auto& line : metrics(run)) {
    if (line.contains("learning_rate")) all.push_back(line.at("loss").get<double>());
  }
  return all;
}

}  // namespace

TEST_CASE("every strategy trains the same in one process over a communicator that is named") {
  const TemporaryFolder folder;
  for (const std::string name : {"single", "ddp", "fsdp", "model_parallel"}) {
    CAPTURE(name);
    const std::string strategy = "trainer.strategy={name: " + name + "}";
    const auto run = folder.path() / name, plain = folder.path() / (name + "_alone");
    const Outcome over_gloo = train_with(run, {strategy, "trainer.communicator.name=gloo"});
    REQUIRE_MESSAGE(over_gloo.exit_code == 0, over_gloo.output);
    const Outcome alone = train_with(plain, {strategy});
    REQUIRE_MESSAGE(alone.exit_code == 0, alone.output);
    CHECK(losses_of(run).size() == 3);
    CHECK(losses_of(run) == losses_of(plain));
  }
}

TEST_CASE("one process connects through the communicator that is named, and only then") {
  const TemporaryFolder folder;
  const std::map<std::string, std::string> no_network = {{"GLOO_SOCKET_IFNAME", "nonet7"}};
  const Outcome named =
      train_with(folder.path() / "named", {"trainer.communicator.name=gloo"}, no_network);
  CHECK(named.exit_code == 7);
  CHECK_MESSAGE(contains(named.output, "the group 'world' could not be connected"), named.output);
  const Outcome unnamed = train_with(folder.path() / "unnamed", {}, no_network);
  CHECK_MESSAGE(unnamed.exit_code == 0, unnamed.output);
}

TEST_CASE("one process over NCCL without a GPU ends with the plugin's message") {
  if (!std::filesystem::exists(binary_dir() + "/lib/s2s/plugins/libs2s_communicator_nccl.so")) {
    MESSAGE("skipped: this build has no plugin nccl");
    return;
  }
  const TemporaryFolder folder;
  const Outcome outcome = train_with(folder.path() / "run", {"trainer.communicator.name=nccl"},
                                     {{"CUDA_VISIBLE_DEVICES", ""}});  // also on a GPU machine
  CHECK(outcome.exit_code == 7);
  CHECK_MESSAGE(contains(outcome.output, "error: [comm/no-gpu] local rank 0 has no GPU"),
                outcome.output);
  CHECK(outcome.output.find("error: ") == outcome.output.rfind("error: "));
}
