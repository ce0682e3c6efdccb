// Reads cuts of JSONL manifests, one file after the other.

#include <filesystem>

#include "base/fnv.h"
#include "base/text.h"
#include "cuts/cut_files.h"
#include "files/files_errors.h"
#include "files/pipe_command.h"
#include "streams/leaf_streams.h"
#include "streams/source_lines.h"
#include "streams/stream_parts.h"

namespace s2s::data {
namespace {

constexpr const char* kCutsExpected =
    "a file of Lhotse cuts (.jsonl or .jsonl.gz); check cuts_path";

class ManifestStream : public LeafStream {
 public:
  ManifestStream(std::vector<std::string> paths, const files::OnBad& on_bad)
      : LeafStream(on_bad), files_(std::move(paths), kCutsExpected, on_bad, LineFiles::kNoLimit) {
    for (size_t i = 0; i < files_.size(); ++i) {
      const std::string& path = files_.path(i);
      if (files::pipe_command(path)) continue;
      if (files::is_url(path)) throw files_errors::url(path);
      if (!std::filesystem::exists(path)) throw files_errors::missing_file(path, kCutsExpected);
    }
  }

  void rewind(int64_t /*epoch*/) override {
    at_file_ = 0;
    at_row_ = 0;
    cursor_.reset();
  }

  StreamState state() const override { return {{"file", at_file_}, {"row", at_row_}}; }

  void restore(const StreamState& state) override {
    at_file_ = state_field<size_t>(state, "file");
    at_row_ = state_field<int64_t>(state, "row");
    if (at_file_ > files_.size() || at_row_ < 0) {
      throw stream_errors::damaged_state("it is after the end of the manifests");
    }
    cursor_.reset();
  }

  CutPtr make(CutKeyView key) const override {
    S2S_ASSERT(key.size() == 2, "a key of this stream is [file, row]");
    const auto file = static_cast<size_t>(key[0]);
    return parse(file, key[1], files_.open(file)->line(key[1]));
  }

  uint64_t fingerprint() const override {
    uint64_t hash = kFnvStart;
    for (size_t i = 0; i < files_.size(); ++i) {
      const std::filesystem::path path(files_.path(i));
      std::error_code unknown;
      const auto bytes = std::filesystem::file_size(path, unknown);
      hash = fnv1a(path.filename().string(), hash);
      if (!unknown) hash = fnv1a(std::to_string(bytes), hash);
    }
    return hash;
  }

  std::optional<int64_t> size() const override { return files_.num_lines(); }

 protected:
  std::optional<CutKey> next_row() override {
    for (; at_file_ < files_.size(); ++at_file_, at_row_ = 0, cursor_.reset()) {
      if (!cursor_) cursor_.emplace(files_.open(at_file_), at_row_);
      while (cursor_->next(line_)) {
        const int64_t row = at_row_++;
        if (!is_blank_line(line_)) return CutKey{static_cast<int64_t>(at_file_), row};
      }
    }
    return std::nullopt;
  }

  CutPtr read_row(const CutKey& key) override { return parse(at_file_, key[1], line_); }

 private:
  CutPtr parse(size_t file, int64_t row, const std::string& line) const {
    auto cut = std::make_shared<Cut>(s2s::parse_cut(line, files_.path(file), row + 1));
    s2s::resolve_paths(*cut);
    return cut;
  }

  LineFiles files_;
  std::optional<files::LineCursor> cursor_;  // position in file at_file_
  size_t at_file_ = 0;
  int64_t at_row_ = 0;  // in that file
  std::string line_;    // the row that is being read
};

}  // namespace

StreamPtr open_manifests(std::vector<std::string> paths, files::OnBad on_bad) {
  return std::make_unique<ManifestStream>(std::move(paths), on_bad);
}

}  // namespace s2s::data
