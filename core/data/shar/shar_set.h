#pragma once
// Lhotse Shar: cuts in shards, and in shards of the same numbers what belongs to the cuts, a field
// each (recordings and arrays in tars, other values in JSON lines).

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "files/index_place.h"
#include "s2s/data/cuts.h"

namespace s2s::data {

/// Paths (or "pipe:CMD") of the shards of each field, in order.
struct SharShards {
  std::vector<std::string> cuts;
  std::vector<std::pair<std::string, std::vector<std::string>>> fields;
};

/// The shards of a folder, sorted by name; `FIELD.jsonl.gz` without a number is one shard.
/// `fields`: those to read; nothing: all that are there. Index files are passed over.
/// `name_missing`: numbers that a field lacks are named as its other shards are; opening says so.
/// Errors: [data/missing-file], [data/shar-field], [data/shar-shards].
/// Source: lhotse LazySharIterator.
SharShards list_shar(const std::string& folder,
                     const std::optional<std::vector<std::string>>& fields = {},
                     bool name_missing = false);

/// From a mapping field -> patterns ("d/cuts.{000000..000127}.jsonl.gz", _OP_ _CL_), as `shar_path`
/// may be; `place`: for messages.
/// Errors: [data/shar-field] without cuts, [data/shar-shards], [data/braces].
SharShards expand_shar(
    const std::vector<std::pair<std::string, std::vector<std::string>>>& patterns,
    const std::string& place);

class OpenShard;
class OpenShards;

/// Cuts of a Shar set by shard and row. Thread-safe; holds a bounded number of shards open.
class SharSet {
 public:
  /// With `options.on_damage`, what is damaged, missing or shorter than its neighbors is an error
  /// of the cuts that it concerns, not of the shard (OpenShard).
  /// `options.place` is not used beside the files, where Lhotse would take an index for a shard.
  explicit SharSet(SharShards shards, files::OpenOptions options = {}, size_t max_open_shards = 64);
  ~SharSet();
  SharSet(const SharSet&) = delete;
  SharSet& operator=(const SharSet&) = delete;

  const SharShards& shards() const { return shards_; }
  int64_t num_shards() const { return static_cast<int64_t>(shards_.cuts.size()); }
  /// Number of cuts of a shard; opens it.
  /// Errors: [data/missing-file], [data/gzip], [data/tar], [data/shar-rows].
  int64_t num_cuts(int64_t shard) const;
  /// Sum over all shards; opens them one after the other.
  int64_t num_cuts() const;
  /// The cut with its fields: recordings of plain tars as kSharPointer, of others with their bytes;
  /// arrays as Lhotse 2's pointers or with their bytes. Custom fields `shard_origin` and
  /// `shar_epoch` as Lhotse sets them.
  /// Errors: as num_cuts; [data/shar-id], [data/shar-manifest] and those of parse_cut.
  Cut cut(int64_t shard, int64_t row, int64_t epoch) const;
  /// Of names and sizes of the shards of cuts.
  uint64_t fingerprint() const;

 private:
  std::shared_ptr<const OpenShard> open(int64_t shard) const;

  SharShards shards_;
  files::OpenOptions options_;
  std::unique_ptr<OpenShards> open_;
};

}  // namespace s2s::data
