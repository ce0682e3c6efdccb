#pragma once
// A model whose parts are cut among ranks as strategies cut them, without a strategy: flattened
// tensors at uneven places, columns of rows, empty parts.

#include <ATen/ATen.h>

#include <cstdint>
#include <string>
#include <vector>

#include "s2s/kinds/optimizer.h"
#include "s2s/nn/block.h"
#include "s2s/parallel/local_shard.h"

namespace s2s::test {

/// Ways to hold a model on several ranks.
enum class Cut {
  kReplicated,  // all of everything on every rank; rank 0 owns it
  kFlat,        // flattened tensors at uneven places; some parts are empty
  kColumns,     // some columns of each row; what has no columns is whole, and rank 0's
  kFlatColumns  // columns for one of two, which the others of the same columns cut flat
};

/// A rank of a layout.
struct CutRank {
  Cut cut = Cut::kReplicated;
  int64_t rank = 0;
  int64_t size = 1;
};

/// Names, sizes and types of a small model: one tensor spans several blocks of checksums, one is
/// bfloat16, one a buffer of whole numbers, one has no dims, one is empty.
class CutModel : public Block {
 public:
  explicit CutModel(bool has_late = false);
  /// A buffer that has no memory until it is loaded; it is there when asked for.
  at::Tensor late;

 private:
  at::Tensor big_, wide_, bias_, half_, scale_, none_, count_;
};

/// The i-th number of a tensor after `seed` steps; finite, and exact in bfloat16.
double cut_value(const std::string& name, int64_t i, int64_t seed);

/// What a rank holds, filled with cut_value.
std::vector<LocalShard> cut_parts(CutModel& model, const CutRank& place, int64_t seed);
/// The first number that is not cut_value, as a text; "" when all are.
std::string find_wrong(const std::vector<LocalShard>& parts, int64_t seed);

/// Two moments as long as each part, and a count without dims, as AdamW has them.
class CutOptimizer : public Optimizer {
 public:
  CutOptimizer(const std::vector<LocalShard>& parts, int64_t seed);
  void attach(std::vector<NamedTensor>, std::vector<double>) override {}
  void step(double) override {}
  double base_learning_rate() const override { return 0; }
  TensorMap state() const override { return state_; }
  void restore(const TensorMap& state) override;
  std::string find_wrong(int64_t seed) const;

 private:
  std::vector<LocalShard> moments_;
  TensorMap state_;
};

}  // namespace s2s::test
