// s2s-run doctor, on this machine and with something in the way.

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "common/temporary_folder.h"

using namespace s2s::test;
using nlohmann::json;

namespace {

json parsed(const CommandResult& result) {
  const size_t begin = result.output.find('{');
  REQUIRE_MESSAGE(begin != std::string::npos, result.output);
  return json::parse(result.output.substr(begin));
}

/// The findings of an area.
std::vector<json> of_area(const json& report, const std::string& area) {
  std::vector<json> out;
  for (const json& finding : report["findings"]) {
    if (finding["area"] == area) out.push_back(finding);
  }
  return out;
}

}  // namespace

TEST_CASE("doctor finds that this machine trains: maths and collectives are right") {
  const CommandResult result = run_cli("doctor --json --self-test 1");
  const json report = parsed(result);
  CHECK_MESSAGE(result.exit_code == 0, result.output);
  CHECK(report["can_train"] == true);
  for (const char* area :
       {"LibTorch", "processors", "memory", "disk", "network", "plugins", "maths", "collectives"}) {
    CHECK_MESSAGE(!of_area(report, area).empty(), area);
  }
  CHECK(of_area(report, "maths")[0]["level"] == "ok");
  CHECK(of_area(report, "collectives")[0]["level"] == "ok");
  for (const json& finding : report["findings"]) {
    const bool needs_remedy = finding["level"] == "warning" || finding["level"] == "error";
    CHECK_MESSAGE((!needs_remedy || finding["remedy"] != ""), finding.dump());
  }
}

TEST_CASE("doctor names variables that keep training from its start, with the exit code") {
  const CommandResult result = run_cli("doctor --json --self-test 0",
                                       "GLOO_SOCKET_IFNAME=nonet7 RANK=x LOCAL_RANK=0 "
                                       "OMP_WAIT_POLICY=active");
  CHECK(result.exit_code == 1);
  const json report = parsed(result);
  CHECK(report["can_train"] == false);
  CHECK(of_area(report, "network").back()["level"] == "error");
  CHECK(of_area(report, "network").back()["text"] ==
        "GLOO_SOCKET_IFNAME=nonet7: no such interface "
        "is up");
  CHECK(of_area(report, "launcher")[0]["level"] == "error");
  const std::string launcher = of_area(report, "launcher")[0]["text"];
  CHECK_MESSAGE((launcher.find("WORLD_SIZE") != std::string::npos &&
                 launcher.find('\n') == std::string::npos),
                launcher);
  CHECK(of_area(report, "environment")[0]["level"] == "warning");
  CHECK(of_area(report, "maths").empty());
}

TEST_CASE("doctor says which plugin does not load, and why, and goes on") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "broken.so") << "no shared object";
  const CommandResult result =
      run_cli("--plugin-path " + folder.path().string() + " doctor --json --self-test 0");
  CHECK(result.exit_code == 0);  // no run needs it
  bool is_named = false;
  for (const json& finding : of_area(parsed(result), "plugins")) {
    const std::string text = finding["text"];
    if (text.find("broken.so") == std::string::npos) continue;
    is_named = true;
    CHECK(finding["level"] == "warning");
    CHECK(text.find("[plugin/") != std::string::npos);
  }
  CHECK(is_named);
}

TEST_CASE("doctor says why a device was not tested") {
  const CommandResult result =
      run_cli("doctor --json --self-test 1", "S2S_DEVICE_LIBRARY=/nowhere/libdevice.so");
  const json report = parsed(result);
  CHECK_MESSAGE(result.exit_code == 0, result.output);  // runs use the CPU
  const std::vector<json> maths = of_area(report, "maths");
  REQUIRE(maths.size() == 2);
  CHECK(maths[0]["level"] == "ok");
  CHECK(maths[1]["level"] == "note");
  CHECK(maths[1]["text"] ==
        "GPU: not tested: /nowhere/libdevice.so: cannot open shared object file: No such file or "
        "directory");
  bool is_warned = false;
  for (const json& finding : of_area(report, "device")) is_warned |= finding["level"] == "warning";
  CHECK(is_warned);
}

TEST_CASE("doctor needs a folder that can be written") {
  const CommandResult result = run_cli("doctor --self-test 0 --folder /proc/1/runs");
  CHECK(result.exit_code == 1);
  CHECK_MESSAGE(has(result, "cannot be written"), result.output);
  CHECK(has(result, "training cannot start"));
}
