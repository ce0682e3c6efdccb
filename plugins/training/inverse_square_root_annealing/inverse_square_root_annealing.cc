// Decay by the inverse square root of the step, with warm-up.  Source: NeMo
// core/optim/lr_scheduler.py InverseSquareRootAnnealing, NoamAnnealing.

#include <algorithm>
#include <cmath>

#include "s2s/kinds/schedule.h"
#include "s2s/plugin.h"

namespace s2s::inverse_square_root_annealing {

struct Options {
  std::optional<int64_t> warmup_steps;
  std::optional<double> warmup_ratio;
  double min_lr = 0;
  int64_t max_steps = 1;  // required in the config
  void visit(OptionVisitor& v) {
    v("warmup_steps", warmup_steps, "number of optimizer steps of linear warm-up", at_least(0));
    v("warmup_ratio", warmup_ratio, "the same as a fraction of max_steps", between(0, 1));
    v("min_lr", min_lr, "learning rate after max_steps", at_least(0));
    v("max_steps", max_steps, "number of optimizer steps of warm-up and decay",
      required(at_least(1)));
  }
};

class InverseSquareRootAnnealing : public Schedule {
 public:
  InverseSquareRootAnnealing(int64_t warmup, const Options& options)
      : warmup_(warmup), max_steps_(options.max_steps), min_lr_(options.min_lr) {}

  /// min_lr counts only after max_steps: the decay itself may go below it, as in NeMo.
  double learning_rate(int64_t step, double base) const override {
    const double progress = static_cast<double>(step + 1) / static_cast<double>(warmup_ + 1);
    if (warmup_ > 0 && step <= warmup_) return base * progress;
    return step > max_steps_ ? min_lr_ : base / std::sqrt(progress);
  }

 private:
  int64_t warmup_, max_steps_;
  double min_lr_;
};

struct NoamOptions : Options {
  int64_t d_model = 1;  // required in the config
  void visit(OptionVisitor& v) {
    Options::visit(v);
    v("d_model", d_model, "width of the model: rates are lr / sqrt(d_model) times the decay",
      required(at_least(1)));
  }
};

/// `lr` is a factor, not a rate. max_steps counts only with warmup_ratio.
class NoamAnnealing : public Schedule {
 public:
  NoamAnnealing(int64_t warmup, const NoamOptions& options)
      : warmup_(static_cast<double>(warmup)),
        min_lr_(options.min_lr),
        scale_(std::pow(static_cast<double>(options.d_model), -0.5)) {}

  double learning_rate(int64_t step, double base) const override {
    const double count = static_cast<double>(std::max<int64_t>(step, 1));
    const double decay = std::pow(count, -0.5);
    if (warmup_ == 0) return std::max(base * scale_ * decay, min_lr_);
    const double rate = base * scale_ * std::min(decay, count * std::pow(warmup_, -1.5));
    return count > warmup_ ? std::max(rate, min_lr_) : rate;
  }

 private:
  double warmup_, min_lr_, scale_;
};

template <class T, class Read>
std::unique_ptr<Schedule> create(const Config& options, const BuildContext& context) {
  const auto read = read_options<Read>(options, context.path);
  if (read.warmup_steps && read.warmup_ratio) {
    throw Error(ExitCode::kConfig, "schedule/steps",
                context.path + ": warmup_steps and warmup_ratio are both given (" +
                    options.origin().text() + ")\n  expected: one of them");
  }
  const double ratio = read.warmup_ratio.value_or(0);
  const auto by_ratio = static_cast<int64_t>(ratio * static_cast<double>(read.max_steps));
  return std::make_unique<T>(read.warmup_steps.value_or(by_ratio), read);
}

}  // namespace s2s::inverse_square_root_annealing

S2S_PLUGIN("inverse_square_root_annealing", "0.1.0", "Apache-2.0",
           "schedule:inverse_square_root_annealing\nschedule:noam_annealing") {
  using namespace s2s::inverse_square_root_annealing;
  registrar.add(s2s::Component<s2s::Schedule>{
      .name = "inverse_square_root_annealing",
      .summary = "linear warm-up, then decay by the inverse square root of the step",
      .create = create<InverseSquareRootAnnealing, Options>,
      .options = s2s::list_options<Options>,
      .tiny = R"({"max_steps": 8, "warmup_steps": 2})"});
  registrar.add(s2s::Component<s2s::Schedule>{
      .name = "noam_annealing",
      .summary = "the same by the width of the model, as for the first transformers",
      .create = create<NoamAnnealing, NoamOptions>,
      .options = s2s::list_options<NoamOptions>,
      .tiny = R"({"max_steps": 8, "warmup_steps": 2, "d_model": 16})"});
}
