#pragma once
// The optimizer COMPONENT_NAME: the gradient over the root of its mean square (RMSprop).

#include <memory>
#include <string>
#include <vector>

#include "s2s/kinds/optimizer.h"
#include "s2s/registry.h"

namespace PLUGIN_NAME {

struct Options {
  double lr = 1e-3;
  double alpha = 0.99;
  double eps = 1e-8;
  void visit(s2s::OptionVisitor& v) {
    v("lr", lr, "base learning rate", s2s::at_least(0));
    v("alpha", alpha, "decay rate of the mean square", s2s::between(0, 1));
    v("eps", eps, "added to the root of the mean square", s2s::at_least(0));
  }
};

class Optimizer final : public s2s::Optimizer {
 public:
  explicit Optimizer(const Options& options) : options_(options) {}

  void attach(std::vector<s2s::NamedTensor> parameters, std::vector<double> lr_scales) override;
  void step(double learning_rate) override;
  double base_learning_rate() const override { return options_.lr; }
  s2s::TensorMap state() const override;
  void restore(const s2s::TensorMap& state) override;

 private:
  /// A parameter, or this rank's shard of it.
  struct Trained {
    std::string name;
    at::Tensor parameter;
    double lr_scale;
    at::Tensor mean_square;
  };
  void update(Trained& trained, const at::Tensor& gradient, double learning_rate) const;

  Options options_;
  std::vector<Trained> all_;
};

std::unique_ptr<s2s::Optimizer> create(const s2s::Config& options,
                                       const s2s::BuildContext& context);

}  // namespace PLUGIN_NAME
