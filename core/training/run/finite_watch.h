#pragma once
// Finds the first module of a model whose output, or the gradient of it, is not finite.

#include <map>
#include <optional>
#include <string>

#include "s2s/nn/block.h"

namespace s2s::run {

/// "nan at [0, 3] of [2, 5]": the first element that is not finite; "" for a finite tensor and for
/// one of whole numbers.
std::string fault_of(const at::Tensor& tensor);

/// During its lifetime, looks at the output of every module that is called. Other hooks of the
/// model stay at work. Results are the same bit for bit; each call waits for its device.
class FiniteWatch : public BlockHooks {
 public:
  struct Place {
    std::string module;  // dotted path
    std::string where;   // "nan at [0, 3, 5]"
    bool input_is_finite = true;
  };

  /// `model` must outlive this object.
  explicit FiniteWatch(Block& model);
  ~FiniteWatch() override;
  FiniteWatch(const FiniteWatch&) = delete;
  FiniteWatch& operator=(const FiniteWatch&) = delete;

  /// In the order in which modules finish: of nested modules, the inner one.
  const std::optional<Place>& first_output() const { return first_output_; }
  /// In the order of the backward pass. The gradient at the output of this module is the first one
  /// that is not finite.
  const std::optional<Place>& first_gradient() const { return first_gradient_; }

  at::Tensor call(Block& block, const at::Tensor& x, const Forward& forward) override;
  void use(Block& block) override;
  bool only_calls(const Block& block) const override;
  const VocabularySplit* vocabulary_split(const Block& block) const override;

 private:
  struct Watched {
    std::string path;
    BlockHooks* others = nullptr;
  };
  Block& model_;
  std::map<const Block*, Watched> blocks_;
  std::optional<Place> first_output_, first_gradient_;
};

}  // namespace s2s::run
