#pragma once
// NeMo's tarred data sets: which manifest belongs to which tar.

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

/// Pairs manifests and tars by the numbers in their names. A single manifest can serve all tars;
/// then the shard_id of an entry names its tar. Thread-safe.
class NemoShards {
 public:
  /// `on_bad` is called for each manifest line that is no entry, each time that it is read; the
  /// line is skipped. Without `on_bad` the error is thrown.
  /// Errors: [data/nemo-shards] for names without numbers, or when manifests and tars differ.
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
    std::vector<int64_t> rows;  // for a manifest that serves all tars
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
