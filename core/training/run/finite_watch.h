#pragma once
// Finds the first module with a non-finite output, or with a non-finite gradient of its output.

#include <map>
#include <optional>
#include <string>

#include "s2s/nn/block.h"

namespace s2s::run {

/// The first non-finite element: "nan at [0, 3] of [2, 5]". "" for finite and for integer tensors.
std::string fault_of(const at::Tensor& tensor);

/// During its lifetime, checks the output of every module call. Keeps other hooks of the model.
/// Results stay bit-identical, but each call waits for its device.
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

  /// The first module to finish with a non-finite output. Nested modules finish before outer ones.
  const std::optional<Place>& first_output() const { return first_output_; }
  /// The first module, in the order of the backward pass, with a non-finite gradient of its output.
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
