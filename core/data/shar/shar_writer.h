#pragma once
// Writes Lhotse Shar, a shard at a time.

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
  /// wav, flac, mp3, opus, ogg, original: recordings; numpy: arrays and features; jsonl: others.
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
  bool make_indexes = false;  // `.idx` beside tars and plain JSON lines, as Lhotse 2 makes them
};

/// Paths of a shard's files, that of the cuts last. `number`: nothing: names without a number.
std::vector<std::string> shard_files(const SharWriterOptions& options,
                                     std::optional<int64_t> number);

class SharFieldFile;

/// The files of one shard, which are there only after `commit`, the cuts last.
class SharShardWriter {
 public:
  /// Errors: [io/write].
  SharShardWriter(const SharWriterOptions& options, std::optional<int64_t> number);
  ~SharShardWriter();
  SharShardWriter(const SharShardWriter&) = delete;
  SharShardWriter& operator=(const SharShardWriter&) = delete;

  /// Writes what the fields need of the cut: its stretch of its recordings, with their transforms
  /// applied and only its channels. The cut that is written begins at 0.
  /// Errors: those of CutAudio, encode_audio; [data/shar-value], [io/write]. Nothing of a cut that
  /// has an error is written.   Source: lhotse SharWriter.write.
  void write(const Cut& cut, CutAudio& audio);
  void commit();
  int64_t num_cuts() const { return num_cuts_; }
  int64_t num_bytes() const;
  /// Of each field: how many of the cuts have it.
  const std::vector<int64_t>& num_values() const { return num_values_; }

 private:
  const SharWriterOptions& options_;
  std::vector<std::unique_ptr<SharFieldFile>> fields_;
  std::unique_ptr<SharFieldFile> cuts_;
  int64_t num_cuts_ = 0;
  std::vector<int64_t> num_values_;
};

}  // namespace s2s::data
