// What is stored and shown without its value must be none of s2s's own options.

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/command.h"
#include "config/run_blocks.h"
#include "config/secrets.h"

using nlohmann::json;
using s2s::test::run_cli;

namespace {

int check_names(const s2s::OptionTable& table) {
  for (const s2s::OptionRow& row : table) {
    std::istringstream steps(row.name);
    for (std::string step; std::getline(steps, step, '.');) {
      CHECK_MESSAGE(!s2s::is_secret_name(step), row.name);
    }
  }
  return static_cast<int>(table.size());
}

}  // namespace

TEST_CASE("no option of a component or of a run is taken for a secret") {
  int count = check_names(s2s::list_options<s2s::TrainerBlock>()) +
              check_names(s2s::list_options<s2s::ExpManagerBlock>()) +
              check_names(s2s::list_options<s2s::ModelBlock>());
  const json list = json::parse(run_cli("plugin list --json").output);
  for (const json& component : list.at("components")) {
    const std::string name =
        component.at("kind").get<std::string>() + ":" + component.at("name").get<std::string>();
    const json plugin = json::parse(run_cli("plugin inspect " + name + " --json").output).at(0);
    for (const json& part : plugin.at("components")) {
      for (const json& option : part.at("options")) {
        const std::string path = option.at("name");
        const std::string last = path.substr(path.rfind('.') + 1);
        CHECK_MESSAGE(!s2s::is_secret_name(last), path);
        ++count;
      }
    }
  }
  CHECK(count > 200);
}
