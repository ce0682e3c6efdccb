#include "shar/cut_rows.h"

#include <algorithm>
#include <filesystem>

#include "base/fnv.h"
#include "cuts/cut_files.h"
#include "cuts/cuts_errors.h"
#include "files/brace_expansion.h"
#include "files/line_file.h"
#include "shar/shar_set.h"

namespace s2s::data {
namespace {

/// Finds the part that has a row, and makes `row` the row in that part.
class Parts {
 public:
  void add(int64_t size) { ends_.push_back(total() + size); }
  int64_t total() const { return ends_.empty() ? 0 : ends_.back(); }
  size_t part_of(int64_t& row) const {
    const auto part = std::upper_bound(ends_.begin(), ends_.end(), row);
    if (part != ends_.begin()) row -= *(part - 1);
    return static_cast<size_t>(part - ends_.begin());
  }

 private:
  std::vector<int64_t> ends_;
};

class ManifestRows : public CutRows {
 public:
  ManifestRows(const std::vector<std::string>& paths, const files::OpenOptions& options) {
    for (const std::string& path : paths) {
      files_.push_back(files::open_line_file(
          path, options, "a Shar folder or a file of Lhotse cuts (.jsonl or .jsonl.gz)"));
      const files::LineFile& file = *files_.back();
      // An empty last line is not a cut.
      const bool ends_blank = file.size() > 0 && file.line(file.size() - 1).empty();
      parts_.add(file.size() - (ends_blank ? 1 : 0));
      fingerprint_ = fnv1a(std::filesystem::path(path).filename().string(), fingerprint_);
      fingerprint_ = fnv1a(std::to_string(file.offset(file.size())), fingerprint_);
    }
  }

  int64_t size() const override { return parts_.total(); }
  uint64_t fingerprint() const override { return fingerprint_; }
  Cut cut(int64_t row) const override {
    const files::LineFile& file = *files_[parts_.part_of(row)];
    Cut cut = s2s::parse_cut(file.line(row), file.path(), row + 1);
    resolve_paths(cut);
    return cut;
  }

 private:
  std::vector<std::shared_ptr<const files::LineFile>> files_;
  Parts parts_;
  uint64_t fingerprint_ = kFnvStart;
};

class SharRows : public CutRows {
 public:
  SharRows(const std::string& folder, const files::OpenOptions& options)
      : set_(list_shar(folder, {}, options.on_damage != nullptr), options) {
    for (int64_t shard = 0; shard < set_.num_shards(); ++shard) {
      parts_.add(set_.num_cuts(shard));
      if (options.on_progress) options.on_progress({folder, shard + 1, set_.num_shards()});
    }
  }

  int64_t size() const override { return parts_.total(); }
  uint64_t fingerprint() const override { return set_.fingerprint(); }
  Cut cut(int64_t row) const override {
    const size_t shard = parts_.part_of(row);
    return set_.cut(static_cast<int64_t>(shard), row, 0);
  }

 private:
  SharSet set_;
  Parts parts_;
};

}  // namespace

std::unique_ptr<CutRows> open_cut_rows(const std::string& source,
                                       const files::OpenOptions& options) {
  std::unique_ptr<CutRows> rows;
  if (std::filesystem::is_directory(source)) {
    rows = std::make_unique<SharRows>(source, options);
  } else {
    rows = std::make_unique<ManifestRows>(files::expand_shard_pattern(source), options);
  }
  if (rows->size() == 0) throw cuts_errors::empty({source});
  return rows;
}

}  // namespace s2s::data
