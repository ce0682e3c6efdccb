#pragma once
// Where an index of a file is kept: beside it, in a cache folder, or only in memory.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "files/byte_cache.h"
#include "files/byte_file.h"
#include "s2s/error.h"

namespace s2s::files {

struct IndexProgress {
  std::string path;
  int64_t done_bytes = 0;
  int64_t total_bytes = 0;
};

/// Hears of something that is left out. What it throws stops the reading.
using OnBad = std::function<void(const Error&)>;

/// How files are opened, shared by all that belong together.
struct OpenOptions {
  /// Of decompressed content; null: the file has one of its own.
  std::shared_ptr<ByteCache> cache;
  /// Where a new index is written. Beside Shar files nothing may be added: older Lhotse versions
  /// take every file of the folder for a shard.
  enum class Place { kBeside, kCacheFolder, kMemory };
  Place place = Place::kBeside;
  /// Called now and then while an index of a large file is made. What it throws stops the work.
  std::function<void(const IndexProgress&)> on_progress;
  /// Of a file whose end is damaged or cut off, what is before is read and this is told; it may be
  /// called again, and from several threads. Empty: [data/gzip] and [data/tar] are thrown.
  OnBad on_damage = {};
};

/// $XDG_CACHE_HOME/s2s/index or ~/.cache/s2s/index; "" when neither variable is set.
std::string index_cache_folder();

/// Candidates for reading and for writing an index with `suffix` (".idx") of a file, the best
/// first: beside it, then in the cache folder under a name made of its path and its stamp.
std::vector<std::string> index_paths(const DiskFile& file, const std::string& suffix);

/// Whether an index at `path`, one of `index_paths`, was made before the file's last change. The
/// time at which the kernel last changed the file counts, too (files/source_state.h).
bool is_outdated(const std::string& path, const DiskFile& file);

/// An index file's bytes: mapped from the disk, or in memory where it could not be written.
class IndexBytes {
 public:
  virtual ~IndexBytes() = default;
  virtual std::string_view bytes() const = 0;
};

/// Nothing (null) when there is no such regular file.
std::shared_ptr<const IndexBytes> map_index(const std::string& path);

using IndexWriter = std::function<void(const std::function<void(std::string_view)>& append)>;

/// Runs `write`, which appends the index's bytes, on the first place that takes them; it may be run
/// again on the next when a place fails (no permission, no space). The last place is memory, also
/// for a file that changes while it is read.
std::shared_ptr<const IndexBytes> write_index(const DiskFile& file, const std::string& suffix,
                                              OpenOptions::Place place, const IndexWriter& write);

}  // namespace s2s::files
