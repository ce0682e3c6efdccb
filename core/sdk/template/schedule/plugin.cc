// An example schedule: a linear warm-up, then a constant rate.

#include "s2s/plugin.h"

#include <algorithm>
#include <memory>

#include "s2s/kinds/schedule.h"

namespace PLUGIN_NAME {

namespace {

/// The options of the component. `s2s-run plugin inspect COMPONENT_NAME` lists them.
struct WarmupOptions {
  int64_t warmup_steps = 100;
  void visit(s2s::OptionVisitor& v) {
    v("warmup_steps", warmup_steps, "steps until the base learning rate is reached",
      s2s::at_least(1));
  }
};

class Warmup final : public s2s::Schedule {
 public:
  explicit Warmup(const WarmupOptions& options) : options_(options) {}

  // Steps are counted from 0.
  double learning_rate(int64_t step, double base_learning_rate) const override {
    const auto share = static_cast<double>(step + 1) / static_cast<double>(options_.warmup_steps);
    return base_learning_rate * std::min(1.0, share);
  }

 private:
  WarmupOptions options_;
};

std::unique_ptr<s2s::Schedule> create(const s2s::Config& options,
                                      const s2s::BuildContext& context) {
  return std::make_unique<Warmup>(s2s::read_options<WarmupOptions>(options, context.path));
}

s2s::Component<s2s::Schedule> component() {
  return {.name = "COMPONENT_NAME",
          .summary = "linear warm-up, then a constant rate",
          .create = create,
          .options = s2s::list_options<WarmupOptions>};
}

}  // namespace

}  // namespace PLUGIN_NAME

S2S_PLUGIN("PLUGIN_NAME", "0.1.0", "Apache-2.0", "schedule:COMPONENT_NAME") {
  registrar.add(PLUGIN_NAME::component());
}
