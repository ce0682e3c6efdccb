#pragma once
// Validation sets that the data ranks of a run read together in rounds. In each round, every rank
// has one batch of every set. The rounds end when no rank has a batch left.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "s2s/kinds/data_source.h"
#include "s2s/kinds/model.h"
#include "s2s/kinds/strategy.h"

namespace s2s {

/// Selects every `size`-th batch, starting with batch `rank`.
struct DataShare {
  int64_t rank = 0;
  int64_t size = 1;
};
/// A share of a data set at its first batch. The factory may keep the source for a later pass.
using ShareFactory = std::function<std::shared_ptr<DataSource>(const DataShare& share)>;

class SharedSets {
 public:
  /// `strategy`: null for one process. `limit`: number of batches of each set to use, over all data
  /// ranks; 0: all. All arguments must outlive this object.
  SharedSets(const std::map<std::string, ShareFactory>& sets, ParallelStrategy* strategy,
             int64_t limit);

  struct Turn {
    std::string set;
    Batch batch;
    int64_t number = 0;  // index of the batch in the set
    int64_t first = 0;   // index of rank 0's batch in this round
    /// False: the set has no batch left for this rank. Other ranks have one, and all ranks of a
    /// sharded model must run it together.
    bool counts = true;
    int64_t num_ranks = 1;  // ranks with a batch that counts
  };
  /// Reads the next batches. Returns false when no rank has one. Every rank must call it.
  bool next_round();
  const std::vector<Turn>& turns() const { return turns_; }
  /// Ranks of a sharded model must run the same number of frames. Returns the largest width of
  /// these ranks. For a model that is not sharded, returns `width`.
  int64_t common_width(int64_t width);

 private:
  std::optional<Batch> next_of(DataSource& source);
  const Batch& spare_batch();
  bool needs_all() const { return strategy_ != nullptr && strategy_->mesh().shard > 1; }

  const std::map<std::string, ShareFactory>& sets_;
  ParallelStrategy* strategy_;
  int64_t limit_;
  DataShare share_;
  std::map<std::string, std::shared_ptr<DataSource>> open_;
  std::vector<Turn> turns_;
  std::optional<Batch> spare_;
  int64_t round_ = 0;
};

void add_sums(MetricSums& sums, const MetricSums& more);

/// Sums over all data ranks in rank order, so that every rank gets the same bits. `sums`: set ->
/// sums of this rank.
std::map<std::string, MetricSums> sums_of_all_ranks(ParallelStrategy& strategy,
                                                    const std::map<std::string, MetricSums>& sums);

}  // namespace s2s
