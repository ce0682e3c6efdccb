#pragma once
// Optimizers of this plugin that need whole parameters.

#include <memory>

#include "each_parameter.h"
#include "s2s/parallel/whole_parameters.h"

namespace s2s::peer_optimizers {

class WithWholeParameters : public EachParameter, public UsesWholeParameters {
 public:
  using EachParameter::EachParameter;
  void use_whole_parameters(std::shared_ptr<const WholeParameters> parameters) override {
    parameters_ = std::move(parameters);
  }

 protected:
  std::vector<int64_t> whole_sizes(const Trained& trained) const {
    return parameters_ ? parameters_->sizes(trained.name) : trained.tensor.sizes().vec();
  }
  /// Values like the parameter's shard, as a whole. May share memory with `shard`.
  at::Tensor gather(const Trained& trained, const at::Tensor& shard) const {
    return parameters_ ? parameters_->gather(trained.name, shard) : shard;
  }
  at::Tensor shard_of(const Trained& trained, const at::Tensor& whole) const {
    return parameters_ ? parameters_->shard_of(trained.name, whole) : whole;
  }

 private:
  std::shared_ptr<const WholeParameters> parameters_;  // null: all parameters are whole
};

}  // namespace s2s::peer_optimizers
