#pragma once
// Writes Lhotse Shar, one shard at a time.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cuts/cut_audio.h"
#include "s2s/data/cuts.h"

namespace s2s::data {

struct SharField {
  std::string name;
  /// For recordings wav, flac, mp3, opus, ogg or original; for arrays and features numpy; for other
  /// values jsonl.
  std::string format;
  bool operator==(const SharField&) const = default;
};

/// "recording=flac,target_audio=flac". Errors: [data/shar-format].
std::vector<SharField> parse_shar_fields(const std::string& text);

struct SharWriterOptions {
  std::string folder;
  std::vector<SharField> fields;
  bool include_cuts = true;
  bool compress_jsonl = true;
  /// `.idx` files beside tars and plain JSON lines, as Lhotse 2 writes them.
  bool make_indexes = false;
};

/// Returns the paths of a shard's files; the shard of cuts is last. Without `number` the names have
/// no number.
std::vector<std::string> shard_files(const SharWriterOptions& options,
                                     std::optional<int64_t> number);

class SharFieldFile;

/// Writes the files of one shard. They appear with `commit`, the shard of cuts last.
class SharShardWriter {
 public:
  /// Errors: [io/write].
  SharShardWriter(const SharWriterOptions& options, std::optional<int64_t> number);
  ~SharShardWriter();
  SharShardWriter(const SharShardWriter&) = delete;
  SharShardWriter& operator=(const SharShardWriter&) = delete;

  /// Writes the parts of a cut that its fields need: the part of its recordings that it covers,
  /// with transforms applied and only its channels. The written cut begins at 0. After an error,
  /// nothing of the cut is written.
  /// Errors: those of CutAudio, encode_audio; [data/shar-value], [io/write].
  /// Source: lhotse SharWriter.write.
  /// has an error is written.   Source: lhotse SharWriter.write.
  void write(const Cut& cut, CutAudio& audio);
  void commit();
  int64_t num_cuts() const { return num_cuts_; }
  int64_t num_bytes() const;
  /// For each field, the number of cuts that have it.
  const std::vector<int64_t>& num_values() const { return num_values_; }

 private:
  const SharWriterOptions& options_;
  std::vector<std::unique_ptr<SharFieldFile>> fields_;
  std::unique_ptr<SharFieldFile> cuts_;
  int64_t num_cuts_ = 0;
  std::vector<int64_t> num_values_;
};

}  // namespace s2s::data
