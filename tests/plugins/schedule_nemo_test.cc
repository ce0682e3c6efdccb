// NeMo's schedules against NeMo's own numbers.

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "plugins/built_plugins.h"
#include "s2s/kinds/schedule.h"

namespace {

using nlohmann::json;
using s2s::Config;
using s2s::Schedule;

std::unique_ptr<Schedule> schedule(const std::string& name, const json& settings) {
  Config config = Config::map();
  config["name"] = Config::scalar(name);
  for (const auto& [key, value] : settings.items()) {
    if (key != "lr") config[key] = Config::scalar(value.dump());
  }
  static s2s::test::BuiltPlugins plugins;
  s2s::BuildContext context;
  context.path = "model.lr_scheduler";
  return plugins.create<Schedule>(config, context);
}

void check_rates(const std::string& name, size_t least_records) {
  std::ifstream file(s2s::test::source_dir() + "/tests/reference/data/" + name + ".json");
  const json records = json::parse(file);
  REQUIRE(records.size() >= least_records);
  for (const json& record : records) {
    const json& settings = record["settings"];
    CAPTURE(settings.dump());
    // Ours asks for room for a decay.
    if (settings.value("warmup_steps", 0) == settings["max_steps"]) continue;
    const auto made = schedule(name, settings);
    REQUIRE(!record["rates"].empty());
    for (size_t step = 0; step < record["rates"].size(); ++step) {
      CAPTURE(step);
      const double theirs = record["rates"][step];
      CHECK(std::abs(made->learning_rate(static_cast<int64_t>(step), settings["lr"]) - theirs) <=
            1e-15);
    }
  }
}

}  // namespace

TEST_CASE("every optimizer step has the learning rate that NeMo gives it") {
  check_rates("cosine_annealing", 11);
  check_rates("inverse_square_root_annealing", 5);
  check_rates("noam_annealing", 3);
}

TEST_CASE("warm-up in steps and as a ratio are one too many") {
  const json both = {{"warmup_steps", 2}, {"warmup_ratio", 0.5}, {"max_steps", 8}};
  CHECK_THROWS_WITH(schedule("inverse_square_root_annealing", both),
                    doctest::Contains("warmup_steps and warmup_ratio are both given"));
}
