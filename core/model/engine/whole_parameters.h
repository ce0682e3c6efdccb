#pragma once
// Whole parameters from the shards of several ranks.

#include <map>
#include <string>
#include <vector>

#include "s2s/kinds/communicator.h"
#include "s2s/parallel/local_shard.h"
#include "s2s/parallel/whole_parameters.h"
#include "weights/tensor_runs.h"

namespace s2s {

/// Gathers over the ranks that hold one replica of the model together.
class GatheredParameters : public WholeParameters {
 public:
  /// parts: describe `shards`, in the same order on all of `ranks`, which must outlive this object.
  /// All ranks call this.
  GatheredParameters(Communicator& ranks, std::vector<NamedTensor> shards,
                     const std::vector<LocalShard>& parts);

  std::vector<NamedTensor> shards() const override { return shards_; }
  const std::vector<int64_t>& sizes(const std::string& name) const override;
  at::Tensor gather(const std::string& name, const at::Tensor& shard) const override;
  at::Tensor shard_of(const std::string& name, const at::Tensor& whole) const override;

 private:
  struct Layout {
    std::vector<int64_t> sizes;              // of the whole
    std::vector<int64_t> shard_sizes;        // of this rank's shard
    std::vector<std::vector<SpanRun>> runs;  // of each rank
    int64_t largest = 0;                     // number of elements of the largest shard
    bool is_whole = true;                    // on every rank
  };
  const Layout& layout(const std::string& name) const;

  Communicator& ranks_;
  std::vector<NamedTensor> shards_;
  std::map<std::string, Layout> layouts_;
};

}  // namespace s2s
