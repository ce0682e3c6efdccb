#pragma once
// Gradients of a replicated model, added up over the ranks while backward still runs.

#include <optional>
#include <vector>

#include "s2s/block.h"
#include "s2s/communicator.h"

namespace s2s::ddp {

struct BucketSettings {
  int64_t first_bytes = 1 << 20;  // small: the first reduction begins early
  int64_t bytes = 25 << 20;
};

/// Parameters in the reverse order of their registration, which is about the order in which
/// gradients come, in buckets that are reduced as one tensor each. Buckets are reduced in their
/// order on every rank. A gradient that only some ranks have counts as zero on the others; one that
/// no rank has stays undefined.
class GradientBuckets {
 public:
  /// Adds a hook to each parameter. `group` must live on.
  GradientBuckets(const std::vector<NamedTensor>& parameters, Communicator& group,
                  const BucketSettings& settings);
  /// Takes the hooks away.
  ~GradientBuckets();
  GradientBuckets(const GradientBuckets&) = delete;
  GradientBuckets& operator=(const GradientBuckets&) = delete;

  /// From now on gradients that come are complete (`on`), or are only added to.
  void expect_complete(bool on) { is_last_ = on; }
  /// Reduces what is left and waits. Gradients are views of the buckets then.
  void finish();
  size_t size() const { return buckets_.size(); }

  /// A parameter's gradient has come.
  void arrived(size_t bucket);

 private:
  struct Bucket {
    std::vector<at::Tensor> parameters;
    int64_t num_elements = 0;
    size_t num_arrived = 0;
    at::Tensor flat;  // the gradients, and for each parameter whether this rank has one
    std::optional<Collective> reduction;
  };
  void add(const at::Tensor& parameter, const BucketSettings& settings);
  void launch(Bucket& bucket);
  void hand_out(Bucket& bucket);

  Communicator& group_;
  std::vector<Bucket> buckets_;
  size_t num_launched_ = 0;
  bool is_last_ = true;
};

}  // namespace s2s::ddp
