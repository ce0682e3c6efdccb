// s2s-run bench collectives in one process: the communicator is that of the option, and not none.

#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/command.h"

using s2s::test::CommandResult;
using s2s::test::has;
using s2s::test::run_cli;

TEST_CASE("bench collectives goes through the communicator's plugin, also in one process") {
  const CommandResult run = run_cli("bench collectives --size 64K --repeats 2 --json");
  REQUIRE_MESSAGE(run.exit_code == 0, run.output);
  const nlohmann::json result =
      nlohmann::json::parse(run.output.substr(0, run.output.rfind('}') + 1));
  CHECK(result["communicator"] == "gloo");
  CHECK(result["ranks"].size() == 1);
  CHECK(result["collectives"].size() == 5);  // all but messages between two ranks
  for (const auto& one : result["collectives"]) CHECK_MESSAGE(one["right"] == true, one.dump());
  // Only Gloo reads this variable.
  const std::string no_network = "GLOO_SOCKET_IFNAME=nonet7";
  const CommandResult failed = run_cli("bench collectives --size 4K", no_network);
  CHECK(failed.exit_code == 7);
  CHECK_MESSAGE(
      has(failed, "error: [comm/failed] rank 0: the group 'world' could not be connected"),
      failed.output);
  CHECK_MESSAGE(has(failed, "nonet7"), failed.output);
  CHECK(run_cli("bench collectives --size 4K --communicator local", no_network).exit_code == 0);
}

TEST_CASE("bench collectives over NCCL without a GPU ends with the plugin's message") {
  if (!std::filesystem::exists(s2s::test::binary_dir() +
                               "/lib/s2s/plugins/libs2s_communicator_nccl.so")) {
    MESSAGE("skipped: this build has no plugin nccl");
    return;
  }
  const CommandResult run = run_cli("bench collectives --size 4K --communicator nccl",
                                    "CUDA_VISIBLE_DEVICES=");  // none, also on a GPU machine
  CHECK(run.exit_code == 7);
  CHECK_MESSAGE(run.output.rfind("error: [comm/no-gpu] local rank 0 has no GPU", 0) == 0,
                run.output);
  CHECK(run.output.find("error: ", 1) == std::string::npos);
}
