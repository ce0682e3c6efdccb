#pragma once
// Batches of cuts that are all held in memory, from manifests.

#include <memory>
#include <string>
#include <vector>

#include "epoch_plan.h"
#include "manifest_options.h"
#include "s2s/cut_batches.h"
#include "s2s/duplex_data.h"

namespace s2s::cuts {

class ManifestBatches : public CutBatches {
 public:
  /// Reads the manifests. Errors: those of read_cuts, [data/cuts-path], [data/batch-size],
  /// [data/concatenate], [data/empty].
  ManifestBatches(const ManifestOptions& options, const DuplexDataOptions& data,
                  const CutBatchesContext& context);

  std::optional<BatchOfCuts> next() override;
  std::string state() const override;
  void restore(const std::string& state) override;
  void begin_epoch(int64_t epoch) override;
  int64_t epoch() const override { return epoch_; }
  uint64_t fingerprint() const override { return fingerprint_; }
  std::shared_ptr<const Cut> make(const std::vector<int64_t>& token) const override;
  void visit_cuts(const std::function<bool(const Cut&)>& visit) const override;

 private:
  BatchOfCuts as_batch(const PlannedRows& rows) const;
  uint64_t hash_of_order() const;

  std::string path_;
  BatchRule rule_;
  bool repeat_;
  uint64_t seed_;
  std::shared_ptr<const std::vector<Cut>> cuts_;
  uint64_t fingerprint_ = 0;
  EpochPlan plan_;
  int64_t epoch_ = 0;
  int64_t batch_ = 0;  // of the epoch
};

}  // namespace s2s::cuts
