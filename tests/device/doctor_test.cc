// s2s-run doctor on the test device.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "device/test_device.h"

namespace {

using namespace s2s::test;
using nlohmann::json;

}  // namespace

TEST_CASE("doctor tests the device beside the CPU") {
  const CommandResult result =
      run_cli("doctor --json --self-test 1", "S2S_DEVICE_LIBRARY=" + device_library());
  REQUIRE_MESSAGE(result.exit_code == 0, result.output);
  std::vector<std::string> maths;
  const json report = json::parse(result.output);
  for (const json& finding : report["findings"]) {
    if (finding["area"] != "maths") continue;
    CHECK(finding["level"] == "ok");
    maths.push_back(finding["text"]);
  }
  REQUIRE_MESSAGE(maths.size() == 2, result.output);
  CHECK(maths[0].rfind("cpu: right results", 0) == 0);
  CHECK(maths[1].rfind("test_device: right results", 0) == 0);
}
