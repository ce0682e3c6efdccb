#pragma once
// NeMo's tarred data sets: which manifest belongs to which tar, and what an entry makes of a
// member.

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "files/tar_index.h"
#include "s2s/data/cuts.h"
#include "streams/nemo_entry.h"
#include "streams/source_lines.h"

namespace s2s::data {

/// Manifests and tars by the numbers in their names; a single manifest serves all tars by its
/// entries' shard_id. Thread-safe.
class NemoShards {
 public:
  /// Errors: [data/nemo-shards] names without numbers, manifests and tars that differ.
  /// `on_bad` is told of each line of the manifests that is no entry, which is passed over, each
  /// time they are read; empty: it is thrown.
  NemoShards(const std::vector<std::string>& manifests, const std::vector<std::string>& tars,
             files::OnBad on_bad = {});

  /// Sorted by number.
  size_t size() const { return shards_.size(); }
  const std::string& manifest(size_t shard) const { return lines_.path(shards_[shard].manifest); }
  const std::string& tar(size_t shard) const { return shards_[shard].tar; }
  std::shared_ptr<const files::ByteFile> open_tar(size_t shard) const;
  /// Rows of a shard's entries by the name of their audio file, without "-subN".
  std::unordered_map<std::string, std::vector<int64_t>> rows_by_audio(size_t shard) const;
  NemoEntry entry(size_t shard, int64_t row) const;
  /// Entries of all shards.
  int64_t num_entries() const { return lines_.num_lines(); }
  uint64_t fingerprint() const;

 private:
  struct Shard {
    int64_t number = 0;
    size_t manifest = 0;
    std::string tar;
    std::vector<int64_t> rows;  // of a manifest that serves all tars
  };

  void read_shard_ids(std::unordered_map<int64_t, std::vector<int64_t>>& rows) const;
  NemoEntry parse(size_t shard, int64_t row, const std::string& line) const;

  files::OnBad on_bad_;
  LineFiles lines_;
  bool is_single_ = false;
  std::vector<Shard> shards_;
  files::OpenOptions tar_options_;
  mutable std::mutex mutex_;
  mutable std::list<std::pair<size_t, std::shared_ptr<const files::ByteFile>>> open_tars_;
};

/// "name-sub3.wav" -> "name.wav".   Source: nemo LazyNeMoTarredIterator.
std::string without_sub(const std::string& audio_filepath);

}  // namespace s2s::data
