// Cosine annealing with warm-up.  Source: NeMo core/optim/lr_scheduler.py CosineAnnealing.

#include <algorithm>
#include <cmath>
#include <functional>

#include "s2s/kinds/schedule.h"
#include "s2s/plugin.h"

namespace s2s::cosine_annealing {

struct CosineOptions {
  std::optional<int64_t> warmup_steps;
  std::optional<double> warmup_ratio;
  std::optional<int64_t> constant_steps;
  std::optional<double> constant_ratio;
  double min_lr = 0;
  int64_t max_steps = 1;  // required in the config
  std::vector<int64_t> restarts;
  void visit(OptionVisitor& v) {
    v("warmup_steps", warmup_steps, "number of optimizer steps of linear warm-up", at_least(0));
    v("warmup_ratio", warmup_ratio, "the same as a fraction of max_steps", between(0, 1));
    v("constant_steps", constant_steps, "number of steps at min_lr at the end", at_least(0));
    v("constant_ratio", constant_ratio, "the same as a fraction of max_steps", between(0, 1));
    v("min_lr", min_lr, "final learning rate", at_least(0));
    v("max_steps", max_steps, "number of optimizer steps until min_lr is reached",
      required(at_least(1)));
    v("restarts", restarts,
      "steps at which warm-up and cosine restart, for training in stages, in ascending order; "
      "steps from max_steps on are ignored",
      at_least(1));
  }
};

int64_t steps_of(const std::optional<int64_t>& steps, const std::optional<double>& ratio,
                 int64_t max_steps) {
  if (steps) return *steps;
  return ratio ? static_cast<int64_t>(*ratio * static_cast<double>(max_steps)) : 0;
}

/// One warm-up and one decay over `steps` optimizer steps.
class Phase {
 public:
  Phase(const CosineOptions& options, int64_t steps)
      : warmup_(steps_of(options.warmup_steps, options.warmup_ratio, steps)),
        constant_(steps_of(options.constant_steps, options.constant_ratio, steps)),
        steps_(steps),
        min_lr_(options.min_lr) {}

  bool fits() const { return warmup_ + constant_ < steps_; }
  int64_t fixed_steps() const { return warmup_ + constant_; }
  int64_t steps() const { return steps_; }

  double learning_rate(int64_t step, double base) const {
    if (warmup_ > 0 && step <= warmup_) {
      // With a constant phase, the warm-up starts at 0; without one, at the fraction of one step.
      return constant_ > 0
                 ? base * static_cast<double>(step) / static_cast<double>(warmup_)
                 : base * static_cast<double>(step + 1) / static_cast<double>(warmup_ + 1);
    }
    const int64_t decay_steps = steps_ - constant_ - warmup_;
    if (step > warmup_ + decay_steps) return min_lr_;
    const double progress = static_cast<double>(step - warmup_) / static_cast<double>(decay_steps);
    return min_lr_ + (base - min_lr_) * 0.5 * (1 + std::cos(M_PI * progress));
  }

 private:
  int64_t warmup_, constant_, steps_;
  double min_lr_;
};

class CosineAnnealing : public Schedule {
 public:
  explicit CosineAnnealing(const CosineOptions& options) : starts_{0} {
    for (const int64_t step : options.restarts) {
      if (step < options.max_steps) starts_.push_back(step);
    }
    for (size_t i = 0; i < starts_.size(); ++i) {
      const int64_t end = i + 1 < starts_.size() ? starts_[i + 1] : options.max_steps;
      phases_.emplace_back(options, end - starts_[i]);
    }
  }

  const std::vector<Phase>& phases() const { return phases_; }

  double learning_rate(int64_t step, double base) const override {
    const auto next = std::upper_bound(starts_.begin(), starts_.end(), step);
    const auto index = static_cast<size_t>(next - starts_.begin()) - 1;
    return phases_[index].learning_rate(step - starts_[index], base);
  }

 private:
  std::vector<int64_t> starts_;
  std::vector<Phase> phases_;
};

[[noreturn]] void throw_steps(const std::string& path, const std::string& problem,
                              const Config& options) {
  throw Error(
      ExitCode::kConfig, "schedule/steps",
      path + ": " + problem + " (" + options.origin().text() +
          ")\n  expected: warm-up and constant steps that leave room below max_steps (with "
          "restarts: in every phase), each given as steps or as a ratio, not both; restarts in "
          "ascending order");
}

std::unique_ptr<Schedule> create(const Config& options, const BuildContext& context) {
  const auto read = read_options<CosineOptions>(options, context.path);
  if ((read.warmup_steps && read.warmup_ratio) || (read.constant_steps && read.constant_ratio)) {
    throw_steps(context.path, "both the steps and the ratio of one phase are given", options);
  }
  const auto& steps = read.restarts;
  if (std::adjacent_find(steps.begin(), steps.end(), std::greater_equal<>()) != steps.end()) {
    throw_steps(context.path, "the restarts are not in ascending order", options);
  }
  auto schedule = std::make_unique<CosineAnnealing>(read);
  for (const Phase& phase : schedule->phases()) {
    if (phase.fits()) continue;
    throw_steps(context.path,
                "warm-up and constant phase take " + std::to_string(phase.fixed_steps()) +
                    (read.restarts.empty() ? " of max_steps = " : " of a phase of ") +
                    std::to_string(phase.steps()),
                options);
  }
  return schedule;
}

Component<Schedule> component() {
  return {.name = "cosine_annealing",
          .summary = "linear warm-up, then cosine decay to min_lr",
          .create = create,
          .options = list_options<CosineOptions>,
          .tiny = R"({"max_steps": 8, "warmup_steps": 2})"};
}

}  // namespace s2s::cosine_annealing

S2S_PLUGIN("cosine_annealing", "0.1.0", "Apache-2.0", "schedule:cosine_annealing") {
  registrar.add(s2s::cosine_annealing::component());
}
