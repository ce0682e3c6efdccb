#pragma once
// index.json of a checkpoint: which numbers of which tensor lie in which file, and the checksums of
// every file. (core/docs/start/runs.md)

#include <ATen/core/Tensor.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "weights/block_checksums.h"
#include "weights/tensor_runs.h"

namespace s2s {

/// Numbers of a tensor; they lie under the tensor's name in `file`, in the order of the runs.
struct StoredPiece {
  std::string file;
  std::vector<SpanRun> runs;
};

struct PieceTensor {
  at::ScalarType dtype = at::kFloat;
  std::vector<int64_t> sizes;
  std::vector<StoredPiece> pieces;
};

using PieceGroup = std::map<std::string, PieceTensor>;

struct PieceIndex {
  static constexpr const char* kFile = "index.json";

  int64_t num_ranks = 1;                       // that wrote it
  std::map<std::string, FileChecksums> files;  // of the folder, but for the index itself
  std::map<std::string, PieceGroup> groups;    // "model", "optimizer"
};

/// The name of a rank's file: GROUP.safetensors of one rank, GROUP-RRRRR-of-WWWWW.safetensors of
/// several.
std::string piece_file_name(const std::string& group, int64_t rank, int64_t num_ranks);

/// Adds what another rank wrote.
void merge(PieceIndex& index, const PieceIndex& more);
/// What keeps the pieces from being every number of the tensor once; "" when nothing does.
std::string tiling_fault(const PieceTensor& tensor);

/// With a checksum of its own.
std::string format_piece_index(const PieceIndex& index);
/// `path` is for messages. What it gives is safe to compute with: sizes, products and runs fit 63
/// bits, no piece has more numbers than its file has room for, and names of files stay within the
/// folder. Errors: [checkpoint/damaged].
PieceIndex parse_piece_index(const std::string& path, const std::string& text);
/// The index of a checkpoint's folder. Errors: [checkpoint/incomplete], [checkpoint/damaged].
PieceIndex read_piece_index(const std::string& folder);

}  // namespace s2s
