// OneCycle and LRRangeTest. OneCycle changes the learning rate only, not the momentum.

#include <cmath>

#include "schedules.h"

namespace s2s::deepspeed_schedules {
namespace {

struct OneCycleOptions {
  double min_lr = 0, max_lr = 0;  // required in the config
  double decay_lr_rate = 0;
  int64_t first_steps = 2000, decay_steps = 0, first_stairs = 0;
  std::optional<int64_t> second_steps, second_stairs;
  void visit(OptionVisitor& v) {
    v("cycle_min_lr", min_lr, "first learning rate, and the one after the cycle",
      required(at_least(0)));
    v("cycle_max_lr", max_lr, "highest learning rate", required(at_least(0)));
    v("cycle_first_step_size", first_steps, "optimizer steps in which the learning rate rises",
      at_least(1));
    v("cycle_second_step_size", second_steps,
      "optimizer steps in which it falls; null: as many as it rises", at_least(0));
    v("cycle_first_stair_count", first_stairs, "number of steps of a staircase; 0: none",
      at_least(0));
    v("cycle_second_stair_count", second_stairs, "the same while it falls; null: as while it rises",
      at_least(0));
    v("decay_step_size", decay_steps, "optimizer steps of one decay after the cycle; 0: no decay",
      at_least(0));
    v("decay_lr_rate", decay_lr_rate, "the learning rate is divided by 1 + this for each decay",
      at_least(0));
  }
};

class OneCycle : public Schedule {
 public:
  explicit OneCycle(const OneCycleOptions& options)
      : options_(options),
        first_(static_cast<double>(options.first_steps)),
        second_(static_cast<double>(options.second_steps.value_or(options.first_steps))) {}

  double learning_rate(int64_t step, double) const override {
    const auto now = static_cast<double>(step);
    if (step == 0 || now - 1 < first_ + second_) {
      return options_.min_lr + (options_.max_lr - options_.min_lr) * height(now);
    }
    if (options_.decay_steps == 0) return options_.min_lr;
    const double decays = (now - first_ - second_) / static_cast<double>(options_.decay_steps);
    return options_.min_lr / (1 + options_.decay_lr_rate * decays);
  }

 private:
  /// Between 0 and 1.
  double height(double step) const {
    const double total = first_ + second_;
    const double turn = first_ / total;
    const double x = 1 + step / total - std::floor(1 + step / total);
    const bool rises = x <= turn;
    const int64_t stairs =
        rises ? options_.first_stairs : options_.second_stairs.value_or(options_.first_stairs);
    if (stairs == 0) return rises ? x / turn : (x - 1) / (turn - 1);
    // Whole steps: a quotient just below a stair would be rounded down to the one before.
    const double in_cycle = std::fmod(step, total);
    const auto count = static_cast<double>(stairs);
    const double stair =
        in_cycle <= first_ ? in_cycle * count / first_ : (total - in_cycle) * count / second_;
    return std::floor(stair) / count;
  }

  OneCycleOptions options_;
  double first_, second_;
};

struct RangeTestOptions {
  double min_lr = 1e-3, step_rate = 1;
  int64_t step_size = 2000;
  bool staircase = false;
  void visit(OptionVisitor& v) {
    v("lr_range_test_min_lr", min_lr, "first learning rate", at_least(0));
    v("lr_range_test_step_size", step_size, "optimizer steps of one increase", at_least(1));
    v("lr_range_test_step_rate", step_rate, "one increase, as a multiple of the first rate",
      at_least(0));
    v("lr_range_test_staircase", staircase, "increase at the end of each, not in each step");
  }
};

class RangeTest : public Schedule {
 public:
  explicit RangeTest(const RangeTestOptions& options) : options_(options) {}

  double learning_rate(int64_t step, double) const override {
    const double all = static_cast<double>(step) / static_cast<double>(options_.step_size);
    const double increases = options_.staircase ? std::floor(all) : all;
    return options_.min_lr * (1 + options_.step_rate * increases);
  }

 private:
  RangeTestOptions options_;
};

}  // namespace

Component<Schedule> one_cycle_component() {
  return component<OneCycle, OneCycleOptions>(
      "one_cycle_lr", "DeepSpeed's OneCycle: up, down, then decay (momentum stays)",
      R"({"cycle_min_lr": 1e-4, "cycle_max_lr": 1e-3, "cycle_first_step_size": 4})");
}

Component<Schedule> range_test_component() {
  return component<RangeTest, RangeTestOptions>(
      "lr_range_test", "DeepSpeed's LRRangeTest: a learning rate that rises without end");
}

}  // namespace s2s::deepspeed_schedules
