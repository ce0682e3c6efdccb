// The schedule against NeMo's own values, and phases that begin again.

#include <doctest/doctest.h>

#include "plugins/built_plugins.h"
#include "s2s/kinds/schedule.h"

namespace {

using s2s::Config;
using s2s::Schedule;

std::unique_ptr<Schedule> schedule(std::map<std::string, std::string> options,
                                   const std::vector<std::string>& restarts = {}) {
  Config config = Config::map();
  config["name"] = Config::scalar("cosine_annealing");
  for (const auto& [key, value] : options) config[key] = Config::scalar(value);
  std::vector<Config> steps;
  for (const std::string& step : restarts) steps.push_back(Config::scalar(step));
  config["restarts"] = Config::list(steps);
  static s2s::test::BuiltPlugins plugins;
  s2s::BuildContext context;
  context.path = "model.lr_scheduler";
  return plugins.create<Schedule>(config, context);
}

TEST_CASE("warm-up rises to the base rate, the cosine ends at min_lr") {
  // By hand from NeMo's CosineAnnealing: (step + 1) / (warmup + 1), then half a cosine.
  const auto s = schedule({{"warmup_steps", "4"}, {"max_steps", "24"}, {"min_lr", "0.1"}});
  CHECK(s->learning_rate(0, 1.0) == doctest::Approx(0.2));
  CHECK(s->learning_rate(3, 1.0) == doctest::Approx(0.8));
  CHECK(s->learning_rate(4, 1.0) == doctest::Approx(1.0));
  CHECK(s->learning_rate(14, 1.0) == doctest::Approx(0.55));
  CHECK(s->learning_rate(24, 1.0) == doctest::Approx(0.1));
  CHECK(s->learning_rate(99, 1.0) == doctest::Approx(0.1));
}

TEST_CASE("a restart begins warm-up and cosine again and ends at max_steps") {
  const std::map<std::string, std::string> options = {
      {"warmup_steps", "4"}, {"max_steps", "34"}, {"min_lr", "0.1"}};
  const auto s = schedule(options, {"10"});
  const auto first = schedule({{"warmup_steps", "4"}, {"max_steps", "10"}, {"min_lr", "0.1"}});
  for (int64_t step = 0; step < 10; ++step) {
    CHECK(s->learning_rate(step, 1.0) == first->learning_rate(step, 1.0));
  }
  CHECK(s->learning_rate(10, 1.0) == doctest::Approx(0.2));
  CHECK(s->learning_rate(14, 1.0) == doctest::Approx(1.0));
  CHECK(s->learning_rate(24, 1.0) == doctest::Approx(0.55));
  CHECK(s->learning_rate(34, 1.0) == doctest::Approx(0.1));
}

TEST_CASE("a run that ends before a restart is one phase") {
  const std::map<std::string, std::string> options = {{"warmup_steps", "4"}, {"max_steps", "24"}};
  const auto plain = schedule(options);
  const auto shortened = schedule(options, {"24", "90"});
  for (int64_t step = 0; step < 30; ++step) {
    CHECK(shortened->learning_rate(step, 1.0) == plain->learning_rate(step, 1.0));
  }
}

TEST_CASE("phases without room and restarts that do not rise are errors with the place") {
  const auto id_of = [](const auto& make) -> std::string {
    try {
      make();
    } catch (const s2s::Error& error) {
      return error.id() + " " + error.what();
    }
    return "";
  };
  const std::map<std::string, std::string> options = {{"warmup_steps", "4"}, {"max_steps", "24"}};
  const std::string narrow = id_of([&] { schedule(options, {"20"}); });
  CHECK(narrow.find("schedule/steps") == 0);
  CHECK(narrow.find("take 4 of a phase of 4") != std::string::npos);
  CHECK(id_of([&] { schedule(options, {"12", "8"}); }).find("schedule/steps") == 0);
  CHECK(id_of([&] {
          schedule({{"warmup_steps", "24"}, {"max_steps", "24"}});
        }).find("take 24 of max_steps = 24") != std::string::npos);
}

}  // namespace
