#pragma once
// Lhotse Shar: shards of cuts, and for each field shards with the same numbers. Recordings and
// arrays are in tars, other values in JSON lines.

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

/// Lists the shards of a folder, sorted by name. `FIELD.jsonl.gz` without a number is a single
/// shard. `fields` selects fields; without it all are read. Index files are skipped. With
/// `name_missing`, a shard that a field lacks gets the name that it should have, and is an error
/// when it is opened.
/// Errors: [data/missing-file], [data/shar-field], [data/shar-shards].
/// Source: lhotse LazySharIterator.
SharShards list_shar(const std::string& folder,
                     const std::optional<std::vector<std::string>>& fields = {},
                     bool name_missing = false);

class OpenShard;
class OpenShards;

/// Access to the cuts of a Shar set by shard and row. Thread-safe. A bounded number of shards is
/// open.
class SharSet {
 public:
  /// With `options.on_damage`, a damaged, missing or short file is an error of only those cuts that
  /// need it (see OpenShard). Indexes are never put beside the
  /// files, whatever `options.place` says, because Lhotse would take them for shards.
  explicit SharSet(SharShards shards, files::OpenOptions options = {}, size_t max_open_shards = 64);
  ~SharSet();
  SharSet(const SharSet&) = delete;
  SharSet& operator=(const SharSet&) = delete;

  const SharShards& shards() const { return shards_; }
  int64_t num_shards() const { return static_cast<int64_t>(shards_.cuts.size()); }
  /// Returns the number of cuts of a shard; opens the shard.
  /// Errors: [data/missing-file], [data/gzip], [data/tar], [data/shar-rows].
  int64_t num_cuts(int64_t shard) const;
  /// Returns the number of cuts of all shards; opens them one after the other.
  int64_t num_cuts() const;
  /// Returns a cut with its fields. Recordings in plain tars are kSharPointer, others contain their
  /// bytes. Arrays are Lhotse 2's pointers or contain their bytes. The custom fields `shard_origin`
  /// and `shar_epoch` are those that Lhotse sets.
  /// Errors: as num_cuts; [data/shar-id], [data/shar-manifest] and those of parse_cut.
  Cut cut(int64_t shard, int64_t row, int64_t epoch) const;
  /// Fingerprint of the names and sizes of the shards of cuts.
  uint64_t fingerprint() const;

 private:
  std::shared_ptr<const OpenShard> open(int64_t shard) const;

  SharShards shards_;
  files::OpenOptions options_;
  std::unique_ptr<OpenShards> open_;
};

}  // namespace s2s::data
