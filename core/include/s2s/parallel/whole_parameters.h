#pragma once
// Whole parameters for optimizers whose update of an element depends on other elements: statistics
// of rows and columns, or a matrix as a whole. A rank may hold only a shard of each parameter.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "s2s/nn/block.h"

namespace s2s {

/// The trained parameters of a model that several ranks hold together.
class WholeParameters {
 public:
  virtual ~WholeParameters();
  /// This rank's shard of every trained parameter, in an order that is the same on all ranks. A
  /// shard may have no elements.
  virtual std::vector<NamedTensor> shards() const = 0;
  /// Sizes of the whole parameter.
  virtual const std::vector<int64_t>& sizes(const std::string& name) const = 0;
  /// Assembles a whole tensor from values that are sharded as parameter `name` is: `shard` has the
  /// elements of this rank's shard, in any dtype. All ranks call this in the same order. The result
  /// may share memory with `shard`, and is the same on all ranks.
  virtual at::Tensor gather(const std::string& name, const at::Tensor& shard) const = 0;
  /// This rank's elements of a whole tensor, with the sizes of its shard.
  virtual at::Tensor shard_of(const std::string& name, const at::Tensor& whole) const = 0;
};

/// An optimizer that needs whole parameters derives from this, too. Without a call of
/// `use_whole_parameters`, the attached parameters are whole.
class UsesWholeParameters {
 public:
  virtual ~UsesWholeParameters();
  /// Called before `attach`, which then gets `parameters->shards()`.
  virtual void use_whole_parameters(std::shared_ptr<const WholeParameters> parameters) = 0;
  /// True for a state (a name in Optimizer::state) that every rank has as a whole, for example a
  /// statistic of each row. Other states are sharded as their parameters are.
  virtual bool is_whole_state(const std::string& name) const = 0;
};

/// A strategy that shards parameters derives from this, too.
class OffersWholeParameters {
 public:
  virtual ~OffersWholeParameters();
  /// Called after `attach`, on all ranks. The strategy must outlive the result.
  virtual std::shared_ptr<const WholeParameters> whole_parameters() = 0;
};

}  // namespace s2s
