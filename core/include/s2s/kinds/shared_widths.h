#pragma once
// SharesWidths: a capability of models (kinds/model_capabilities.h).

#include <string>
#include <vector>

namespace s2s {

/// A tensor of Batch::others: rows [B, N] int64, right padded with 0, and their lengths [B].
struct PaddedTensor {
  std::string rows;
  std::string lengths;
};

/// Answers a batch in evaluate(), or reads more than the user's audio when it answers. All ranks of
/// a sharded model answer together and run the same number of frames, so that their batches have to
/// be equally wide.
class SharesWidths {
 public:
  virtual ~SharesWidths();
  /// Whether evaluate() itself answers the batch.
  virtual bool answers_in_evaluate() const = 0;
  /// What an answer depends on beside the user's audio. A batch may lack it.
  virtual std::vector<PaddedTensor> padded_tensors() const = 0;
};

}  // namespace s2s
