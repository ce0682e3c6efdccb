#pragma once
// Validation sets that the data ranks of a run read together, in rounds: in each one a rank has a
// batch of every set, until nobody has.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "s2s/kinds/data_source.h"
#include "s2s/kinds/speech_model.h"
#include "s2s/kinds/strategy.h"

namespace s2s {

/// Every `size`-th batch, from the `rank`-th on.
struct DataShare {
  int64_t rank = 0;
  int64_t size = 1;
};
/// A share of a data set at its first batch. The factory may keep the source for a later pass.
using ShareFactory = std::function<std::shared_ptr<DataSource>(const DataShare& share)>;

class SharedSets {
 public:
  /// `strategy`: null for one process. `limit`: batches of each set that count, of all data ranks
  /// together; 0: all. All must live on.
  SharedSets(const std::map<std::string, ShareFactory>& sets, ParallelStrategy* strategy,
             int64_t limit);

  /// A batch to run.
  struct Turn {
    std::string set;
    Batch batch;
    int64_t number = 0;  // of the batch, in the order of the set
    int64_t first = 0;   // the number that rank 0's batch of this round has
    /// False: the set has no batch left for this rank. Others have one, and a model whose weights
    /// are split is run by all of its ranks together.
    bool counts = true;
    int64_t num_ranks = 1;  // whose batches count
  };
  /// Reads the next batches; false when no rank has any. Every rank calls it.
  bool next_round();
  const std::vector<Turn>& turns() const { return turns_; }
  /// What has a step for each frame takes as many on all ranks that split a model: the largest of
  /// their widths. Else the width itself.
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

/// Adds one batch's sums to a set's.
void add_sums(MetricSums& sums, const MetricSums& more);

/// The sums of all data ranks added up in their order, the same bits on every rank. `sums`: set ->
/// sums of this rank.
std::map<std::string, MetricSums> sums_of_all_ranks(ParallelStrategy& strategy,
                                                    const std::map<std::string, MetricSums>& sums);

}  // namespace s2s
