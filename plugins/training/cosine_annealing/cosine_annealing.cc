// Cosine annealing with warm-up.  Source: NeMo core/optim/lr_scheduler.py CosineAnnealing.

#include <cmath>

#include "s2s/plugin.h"

namespace s2s::cosine {

struct CosineOptions {
  std::optional<int64_t> warmup_steps;
  std::optional<double> warmup_ratio;
  std::optional<int64_t> constant_steps;
  std::optional<double> constant_ratio;
  double min_lr = 0;
  int64_t max_steps = 1;  // the config has to say it
  void visit(OptionVisitor& v) {
    v("warmup_steps", warmup_steps, "optimizer steps of linear warm-up", at_least(0));
    v("warmup_ratio", warmup_ratio, "the same as a share of max_steps", between(0, 1));
    v("constant_steps", constant_steps, "steps at min_lr at the end", at_least(0));
    v("constant_ratio", constant_ratio, "the same as a share of max_steps", between(0, 1));
    v("min_lr", min_lr, "learning rate at the end", at_least(0));
    v("max_steps", max_steps, "optimizer steps until min_lr is reached", required(at_least(1)));
  }
};

int64_t steps_of(const std::optional<int64_t>& steps, const std::optional<double>& ratio,
                 int64_t max_steps) {
  if (steps) return *steps;
  return ratio ? static_cast<int64_t>(*ratio * static_cast<double>(max_steps)) : 0;
}

class CosineAnnealing : public Schedule {
 public:
  explicit CosineAnnealing(const CosineOptions& options)
      : warmup_(steps_of(options.warmup_steps, options.warmup_ratio, options.max_steps)),
        constant_(steps_of(options.constant_steps, options.constant_ratio, options.max_steps)),
        max_steps_(options.max_steps),
        min_lr_(options.min_lr) {}

  double learning_rate(int64_t step, double base) const override {
    if (warmup_ > 0 && step <= warmup_) {
      // With a constant phase the warm-up starts at 0, without one at one step's share.
      return constant_ > 0
                 ? base * static_cast<double>(step) / static_cast<double>(warmup_)
                 : base * static_cast<double>(step + 1) / static_cast<double>(warmup_ + 1);
    }
    const int64_t decay_steps = max_steps_ - constant_ - warmup_;
    if (step > warmup_ + decay_steps) return min_lr_;
    const double progress = static_cast<double>(step - warmup_) / static_cast<double>(decay_steps);
    return min_lr_ + (base - min_lr_) * 0.5 * (1 + std::cos(M_PI * progress));
  }

 private:
  int64_t warmup_, constant_, max_steps_;
  double min_lr_;
};

[[noreturn]] void throw_steps(const std::string& path, const std::string& problem,
                              const Config& options) {
  throw Error(ExitCode::kConfig, "schedule/steps",
              path + ": " + problem + " (" + options.origin().text() +
                  ")\n  expected: warm-up and constant steps that leave room below max_steps, each "
                  "given as steps or as a ratio, not both");
}

std::unique_ptr<Schedule> create(const Config& options, const BuildContext& context) {
  const auto read = read_options<CosineOptions>(options, context.path);
  if ((read.warmup_steps && read.warmup_ratio) || (read.constant_steps && read.constant_ratio)) {
    throw_steps(context.path, "both the steps and the ratio of one phase are given", options);
  }
  const int64_t used = steps_of(read.warmup_steps, read.warmup_ratio, read.max_steps) +
                       steps_of(read.constant_steps, read.constant_ratio, read.max_steps);
  if (used >= read.max_steps) {
    throw_steps(context.path,
                "warm-up and constant phase take " + std::to_string(used) +
                    " of max_steps = " + std::to_string(read.max_steps),
                options);
  }
  return std::make_unique<CosineAnnealing>(read);
}

}  // namespace s2s::cosine

S2S_PLUGIN("cosine_annealing", "0.1.0", "Apache-2.0", "schedule:cosine_annealing") {
  s2s::Component<s2s::Schedule> component;
  component.name = "cosine_annealing";
  component.summary = "linear warm-up, then half a cosine down to min_lr";
  component.create = s2s::cosine::create;
  component.options = s2s::list_options<s2s::cosine::CosineOptions>;
  registrar.add(std::move(component));
}
