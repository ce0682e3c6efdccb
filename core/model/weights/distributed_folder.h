#pragma once
// Reads folders of torch.distributed.checkpoint: `.metadata`, a pickle that says where the pieces
// of each tensor are, and *.distcp files, in which each piece is a file of torch.save. Source:
// torch/distributed/checkpoint/metadata.py, filesystem.py; Lightning's ModelParallelStrategy (the
// keys of the model begin with "state_dict.").

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/reading_budget.h"
#include "s2s/nn/weights.h"

namespace s2s {

class TorchFile;
class WeightMapping;
struct StoredBytes;

/// The model's tensors of such a folder, whatever number of ranks wrote it. Only `.metadata` is
/// read when it is opened. Names are those of the state dict.
class DistributedFolder {
 public:
  static constexpr const char* kMetadata = ".metadata";

  /// Errors: [weights/unreadable], [weights/format] also when the pieces of a tensor do not cover
  /// it or overlap, [weights/refused], [io/too-much].
  static DistributedFolder open(const std::string& folder, const ReadingBudget& budget);

  const std::map<std::string, TensorFacts>& entries() const { return facts_; }
  /// A view where the tensor is one piece, else a copy put together from its pieces.
  /// Errors: [weights/no-tensor], [weights/format], [weights/unreadable].
  at::Tensor tensor(const std::string& name) const;
  /// Returns the position of a tensor that is one contiguous piece. Errors: as `tensor`.
  std::optional<StoredBytes> stored_bytes(const std::string& name) const;
  /// Frees the memory pages of a tensor's pieces.
  void release(const std::string& name) const;

 private:
  struct Piece {
    std::vector<int64_t> offsets, sizes;
    std::string file;  // in the folder
    uint64_t begin = 0, length = 0;
  };
  class Metadata;
  DistributedFolder() = default;
  const std::vector<Piece>& pieces_of(const std::string& name) const;
  /// Errors: [weights/unreadable]; [weights/format] when the file ends inside the piece.
  const std::shared_ptr<WeightMapping>& map_file(const std::string& name, const Piece& piece) const;
  TorchFile open_piece(const std::string& name, const Piece& piece) const;

  std::string folder_;
  std::map<std::string, TensorFacts> facts_;
  std::map<std::string, std::vector<Piece>> pieces_;
  /// Files that were mapped. A folder may have one for each of thousands of ranks.
  std::shared_ptr<std::map<std::string, std::shared_ptr<WeightMapping>>> mappings_;
};

}  // namespace s2s
