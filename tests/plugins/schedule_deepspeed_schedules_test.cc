// DeepSpeed's schedules against DeepSpeed's own numbers.

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "plugins/built_plugins.h"
#include "s2s/kinds/schedule.h"

namespace {

using nlohmann::json;
using s2s::Config;
using s2s::Schedule;

const std::map<std::string, std::string> kNames = {{"WarmupLR", "warmup_lr"},
                                                   {"WarmupDecayLR", "warmup_decay_lr"},
                                                   {"WarmupCosineLR", "warmup_cosine_lr"},
                                                   {"OneCycle", "one_cycle_lr"},
                                                   {"LRRangeTest", "lr_range_test"}};

std::unique_ptr<Schedule> schedule(const json& record) {
  Config config = Config::map();
  config["name"] = Config::scalar(kNames.at(record["type"]));
  for (const auto& [key, value] : record["params"].items()) {
    if (key == "cycle_momentum") continue;  // only the learning rate is a schedule here
    config[key] = Config::scalar(value.is_string() ? value.get<std::string>() : value.dump());
  }
  static s2s::test::BuiltPlugins plugins;
  s2s::BuildContext context;
  context.path = "model.lr_scheduler";
  return plugins.create<Schedule>(config, context);
}

}  // namespace

TEST_CASE("every optimizer step has the learning rate that DeepSpeed gives it") {
  std::ifstream file(s2s::test::source_dir() + "/tests/reference/data/deepspeed_schedules.json");
  const json records = json::parse(file);
  REQUIRE(records.size() == 11);
  double worst = 0;
  for (const json& record : records) {
    CAPTURE(record["type"].get<std::string>());
    CAPTURE(record["params"].dump());
    const auto made = schedule(record);
    REQUIRE(record["rates"].size() == 40);
    for (int64_t step = 0; step < 40; ++step) {
      const double theirs = record["rates"][static_cast<size_t>(step)];
      const double ours = made->learning_rate(step, record["base"]);
      CAPTURE(step);
      CHECK(std::abs(ours - theirs) <= 1e-14);
      worst = std::max(worst, std::abs(ours - theirs));
    }
  }
  MESSAGE("largest difference: " << worst);
}
