#pragma once
// What the optimizers of this plugin have in common: states by name, parameters without gradients,
// and updates that the device may skip.

#include <map>
#include <string>
#include <vector>

#include "s2s/kinds/optimizer.h"
#include "s2s/nn/block.h"
#include "s2s/plugin.h"

namespace s2s::peer_optimizers {

/// Options that every optimizer has.
struct CommonOptions {
  double weight_decay = 0;
  bool exclude_norm_from_wd = false;
  void visit(OptionVisitor& v, const char* about_decay) {
    v("weight_decay", weight_decay, about_decay, at_least(0));
    v("exclude_norm_from_wd", exclude_norm_from_wd,
      "norms and biases (parameters with such a word in their names) do not decay");
  }
};

// Names of states.
inline constexpr const char* kMomentum = "momentum_buffer";
inline constexpr const char* kFirst = "exp_avg";
inline constexpr const char* kSecond = "exp_avg_sq";
inline constexpr const char* kStep = "step";

/// A parameter (this rank's shard of it) and its states.
struct Trained {
  std::string name;
  at::Tensor tensor;
  double lr_scale = 1;
  double weight_decay = 0;
  bool decays = true;                             // false: exclude_norm_from_wd holds for it
  std::map<std::string, at::Tensor> states = {};  // by the peer's name
  at::Tensor& state(const char* key) { return states.at(key); }
};

/// Updates one parameter after another.
class EachParameter : public Optimizer {
 public:
  void attach(std::vector<NamedTensor> parameters, std::vector<double> lr_scales) override;
  void step(double learning_rate) override { step_scaled(learning_rate, {}); }
  bool step_scaled(double learning_rate, const GradientScale& scale) override;
  TensorMap state() const override;
  void restore(const TensorMap& state) override;

 protected:
  explicit EachParameter(CommonOptions common) : common_(common) {}
  /// Adds the states of a parameter, before the first update.
  virtual void begin(Trained& trained) = 0;
  /// Changes the parameter and its states in place. Both have the bits of a float32 or 16-bit
  /// parameter; `gradient` must not be changed.
  virtual void update(Trained& trained, const at::Tensor& gradient, double learning_rate) = 0;

 private:
  CommonOptions common_;
  std::vector<Trained> all_;
};

/// Zeros like the parameter, as the peers' first states.
at::Tensor zeros_of(const Trained& trained);
/// A number that updates count in: float32 without dimensions, on the parameter's device.
at::Tensor count_of(const Trained& trained);

/// Errors: [config/bounds] when a list of options has not `count` values.
void require_count(const std::vector<double>& values, size_t count, const char* name,
                   const char* example, const Config& options, const BuildContext& context);

Error conflict_error(const std::string& problem, const std::string& expected, const Config& options,
                     const BuildContext& context);

Component<Optimizer> sgd_component();
Component<Optimizer> lion_component();
Component<Optimizer> adafactor_component();
Component<Optimizer> muon_component();

}  // namespace s2s::peer_optimizers
