#pragma once
// Cuts of JSONL manifests, one file after the other.

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "files/index_place.h"
#include "files/line_file.h"
#include "streams/cut_stream.h"
#include "streams/shuffled_range.h"

namespace s2s::data {

struct ManifestStreamOptions {
  std::vector<std::string> paths;  // or "pipe:CMD"; plain or gzip
  files::OpenOptions open;
  /// Rows of all files in an order without memory, as Lhotse 2 reads one indexed manifest with
  /// shuffle=True and this seed; every pass the same.
  std::optional<int64_t> shuffle_seed;
  /// Relative paths of audio are looked up beside the manifest (s2s::resolve_paths).
  bool resolve_paths = true;
  /// Told of each line that is no cut, which is passed over, and of files whose end is damaged.
  /// Empty: it is thrown.
  files::OnBad on_bad = {};
};

/// Token: [file, row]. Empty lines are passed over. A file is opened (and its index made, if it has
/// none) when it is first needed; `size` needs all.
class ManifestStream : public CutStream {
 public:
  /// Errors: [data/missing-file] for a path that is not there.
  explicit ManifestStream(ManifestStreamOptions options);

  std::optional<CutItem> next() override;
  void rewind(int64_t epoch) override;
  StreamState state() const override;
  void restore(const StreamState& state) override;
  std::shared_ptr<const Cut> make(CutKeyView token) const override;
  uint64_t fingerprint() const override;
  std::optional<int64_t> size() const override;

 private:
  std::shared_ptr<const files::LineFile> file(size_t i) const;
  std::shared_ptr<const Cut> parse(size_t file, int64_t row, const std::string& line) const;
  std::optional<CutItem> next_in_order();
  std::optional<CutItem> next_shuffled();
  std::pair<size_t, int64_t> place_of(int64_t row) const;

  ManifestStreamOptions options_;
  mutable std::mutex mutex_;
  mutable std::vector<std::shared_ptr<const files::LineFile>> files_;
  std::optional<files::LineCursor> cursor_;  // in file at_file_
  size_t at_file_ = 0;
  int64_t at_row_ = 0;  // in the file; when shuffled, of all rows
  std::optional<ShuffledRange> order_;
};

}  // namespace s2s::data
