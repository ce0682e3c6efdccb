#pragma once
// NeMo's JSON manifests of audio files as a stream of cuts.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "streams/cut_stream.h"
#include "streams/nemo_entry.h"
#include "streams/source_lines.h"

namespace s2s::data {

struct NemoManifestOptions {
  std::vector<std::string> paths;
  NemoFields fields;
  bool metadata_only = false;  // no audio header is read; rates that are not written are 16 kHz
  bool shuffle_shards = false;
  int64_t shard_seed = 0;
  /// Told of each line that is bad, which is passed over. Empty: it is thrown.
  files::OnBad on_bad = {};
};

/// Tokens: file, row. Relative audio paths are below the manifest's folder.
/// Errors: [data/nemo-manifest], [data/unreadable-audio], those of line files.
/// Source: nemo LazyNeMoIterator; where a line has an offset and a sampling rate, the recording
/// ends with the cut here (there, its duration is the cut's, which loses the end of the cut).
class NemoManifestStream : public CutStream {
 public:
  explicit NemoManifestStream(NemoManifestOptions options);

  std::optional<CutItem> next() override;
  void rewind(int64_t epoch) override;
  StreamState state() const override;
  void restore(const StreamState& state) override;
  std::shared_ptr<const Cut> make(CutKeyView token) const override;
  uint64_t fingerprint() const override;
  /// Lines, as NeMo counts: entries that are skipped count, too.
  std::optional<int64_t> size() const override;

 private:
  void open_part(int64_t row);
  Cut make_cut(const NemoEntry& entry) const;

  NemoManifestOptions options_;
  LineFiles lines_;
  ShuffledParts parts_;
  int64_t epoch_ = 0;
  size_t part_ = 0;  // in the order of the pass
  std::optional<files::LineCursor> cursor_;
};

}  // namespace s2s::data
