#pragma once
// Access to the cuts of a source by number. The source is one or more manifests, or a Shar set.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "files/index_place.h"
#include "s2s/data/cuts.h"

namespace s2s::data {

class CutRows {
 public:
  virtual ~CutRows() = default;
  virtual int64_t size() const = 0;
  /// Thread-safe.
  virtual Cut cut(int64_t row) const = 0;
  /// Changes when names or sizes of the files change.
  virtual uint64_t fingerprint() const = 0;
};

/// Opens `source`: a Shar folder, a manifest of cuts (plain, gzip, "pipe:CMD"), or a pattern of
/// manifests with braces.
/// Errors: [data/missing-file], [data/empty], those of SharSet and LineFile.
std::unique_ptr<CutRows> open_cut_rows(const std::string& source,
                                       const files::OpenOptions& options);

}  // namespace s2s::data
