// s2s-run explain: the page of errors, entry by entry.

#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "cli/command.h"

using namespace s2s::test;

namespace {

/// The ids of the headings of core/docs/reference/errors.md.
std::set<std::string> documented_ids() {
  std::ifstream page(source_dir() + "/core/docs/reference/errors.md");
  std::set<std::string> ids;
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("### ")) continue;
    std::istringstream words(line.substr(4));
    for (std::string id; words >> id;) ids.insert(id.substr(0, id.find(',')));
  }
  return ids;
}

}  // namespace

TEST_CASE("explain lists every id of the page of errors, with its exit code") {
  const CommandResult result = run_cli("explain --json");
  REQUIRE(result.exit_code == 0);
  std::set<std::string> ids;
  for (const auto& entry : nlohmann::json::parse(result.output)) {
    ids.insert(entry["id"].get<std::string>());
    CHECK_MESSAGE(!entry["text"].get<std::string>().empty(), entry["id"]);
    if (entry["id"] == "config/type") CHECK(entry["exit_code"] == 3);
    if (entry["id"] == "launch/no-records") CHECK(entry["exit_code"] == 5);  // marked: (5)
  }
  CHECK(ids == documented_ids());
  CHECK(ids.size() > 200);
}

TEST_CASE("explain takes an id, a message with an id, or an area") {
  const CommandResult id = run_cli("explain comm/timeout");
  CHECK(id.exit_code == 0);
  CHECK_MESSAGE(has(id, "[comm/timeout]  Runs of several processes, exit code 7"), id.output);
  CHECK(run_cli("explain 'error: [comm/timeout] rank 3 has made no progress'").output == id.output);
  const CommandResult area = run_cli("explain checkpoint");
  CHECK(has(area, "checkpoint/damaged"));
  CHECK(has(area, "checkpoint/write"));
  CHECK_FALSE(has(area, "config/type"));
}

TEST_CASE("explain suggests the nearest id") {
  const CommandResult result = run_cli("explain config/typ");
  CHECK(result.exit_code == 2);
  CHECK_MESSAGE(has(result, "did you mean 'config/type'?"), result.output);
}

TEST_CASE("explain fills lines from which links were taken, and leaves lists") {
  const CommandResult lost = run_cli("explain comm/lost");
  CHECK_MESSAGE(has(lost, "because a process ended. The message names it, with its error or"),
                lost.output);
  std::istringstream lines(run_cli("explain comm/port-busy").output);
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 80);
}
