// WarmupLR, WarmupDecayLR and WarmupCosineLR.

#include <algorithm>
#include <cmath>

#include "schedules.h"

namespace s2s::deepspeed_schedules {
namespace {

/// The part of the way from the first rate to the highest one.
struct Warmup {
  int64_t num_steps = 1000;
  std::string type = "log";
  void visit(OptionVisitor& v) {
    v("warmup_num_steps", num_steps, "number of optimizer steps of the warm-up; 0 and 1 count as 2",
      at_least(0));
    v("warmup_type", type, "how the learning rate rises", one_of({"log", "linear"}));
  }
  int64_t steps() const { return std::max<int64_t>(2, num_steps); }
  /// last: the last optimizer step that was made, at least 0 and below steps().
  double fraction(int64_t last) const {
    const auto done = static_cast<double>(last);
    const auto all = static_cast<double>(steps());
    return type == "linear" ? done / all : 1.0 / std::log(all) * std::log(done + 1);
  }
};

struct WarmupOptions {
  double min_lr = 0;
  std::optional<double> max_lr;
  Warmup warmup;
  void visit(OptionVisitor& v) {
    v("warmup_min_lr", min_lr, "first learning rate", at_least(0));
    v("warmup_max_lr", max_lr, "learning rate after the warm-up; null: the optimizer's",
      at_least(0));
    warmup.visit(v);
  }
};

class WarmupLr : public Schedule {
 public:
  explicit WarmupLr(WarmupOptions options) : options_(std::move(options)) {}

  double learning_rate(int64_t step, double base) const override {
    if (step == 0) return options_.min_lr;
    const double delta = options_.max_lr.value_or(base) - options_.min_lr;
    return options_.min_lr + delta * fraction(step - 1);
  }

 protected:
  virtual double fraction_after(int64_t) const { return 1; }
  const Warmup& warmup() const { return options_.warmup; }

 private:
  double fraction(int64_t last) const {
    return last < warmup().steps() ? warmup().fraction(last) : fraction_after(last);
  }

  WarmupOptions options_;
};

struct DecayOptions {
  WarmupOptions warmup;
  int64_t total_num_steps = 1;  // required in the config
  void visit(OptionVisitor& v) {
    v("total_num_steps", total_num_steps,
      "optimizer steps until the learning rate is warmup_min_lr", required(at_least(1)));
    warmup.visit(v);
  }
};

class WarmupDecayLr : public WarmupLr {
 public:
  explicit WarmupDecayLr(const DecayOptions& options)
      : WarmupLr(options.warmup), total_(options.total_num_steps) {}

 protected:
  double fraction_after(int64_t last) const override {
    const auto all = static_cast<double>(total_ - warmup().steps());
    return std::max(0.0, static_cast<double>(total_ - last) / std::max(1.0, all));
  }

 private:
  int64_t total_;
};

struct CosineOptions {
  int64_t total_num_steps = 1;  // required in the config
  double warmup_min_ratio = 0, cos_min_ratio = 0.0001;
  Warmup warmup;
  void visit(OptionVisitor& v) {
    v("total_num_steps", total_num_steps, "optimizer steps until the end of the cosine",
      required(at_least(1)));
    v("warmup_min_ratio", warmup_min_ratio, "first learning rate as a fraction of the optimizer's",
      at_least(0));
    v("cos_min_ratio", cos_min_ratio, "last learning rate as a fraction of the optimizer's",
      at_least(0));
    warmup.visit(v);
  }
};

class WarmupCosineLr : public Schedule {
 public:
  explicit WarmupCosineLr(CosineOptions options) : options_(std::move(options)) {}

  double learning_rate(int64_t step, double base) const override {
    return step == 0 ? 0 : base * ratio(step - 1);
  }

 private:
  double ratio(int64_t last) const {
    const int64_t warmup = options_.warmup.steps();
    if (last < warmup) {
      const double first = options_.warmup_min_ratio;
      return first + options_.warmup.fraction(last) * (1 - first);
    }
    const auto all = static_cast<double>(std::max<int64_t>(1, options_.total_num_steps - warmup));
    const double progress = std::min(1.0, static_cast<double>(last - warmup + 1) / all);
    const double cosine = (1 + std::cos(M_PI * progress)) / 2;
    return std::max(0.0, options_.cos_min_ratio + (1 - options_.cos_min_ratio) * cosine);
  }

  CosineOptions options_;
};

}  // namespace

Component<Schedule> warmup_component() {
  return component<WarmupLr, WarmupOptions>("warmup_lr", "DeepSpeed's WarmupLR: warm-up only");
}

Component<Schedule> warmup_decay_component() {
  return component<WarmupDecayLr, DecayOptions>(
      "warmup_decay_lr", "DeepSpeed's WarmupDecayLR: warm-up, then linear decay",
      R"({"total_num_steps": 8, "warmup_num_steps": 2})");
}

Component<Schedule> warmup_cosine_component() {
  return component<WarmupCosineLr, CosineOptions>(
      "warmup_cosine_lr", "DeepSpeed's WarmupCosineLR: warm-up, then half a cosine",
      R"({"total_num_steps": 8, "warmup_num_steps": 2})");
}

}  // namespace s2s::deepspeed_schedules
