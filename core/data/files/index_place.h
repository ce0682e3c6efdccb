#pragma once
// Where the index of a file is stored: beside the file, in a cache folder, or only in memory.

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

/// Called for data that is skipped. It may throw to stop the reading.
using OnBad = std::function<void(const Error&)>;

/// How files are opened; all files of a data set share it.
struct OpenOptions {
  /// For decompressed content. If it is null, each file has its own.
  std::shared_ptr<ByteCache> cache;
  /// Where a new index is written. It must not be beside Shar files, because older versions of
  /// Lhotse take every file of the folder for a shard.
  enum class Place { kBeside, kCacheFolder, kMemory };
  Place place = Place::kBeside;
  /// Called regularly while the index of a large file is made. It may throw to stop the work.
  std::function<void(const IndexProgress&)> on_progress;
  /// Called for a file with a damaged or truncated end, of which the part before the damage is
  /// read. It may be called several times and from several threads. If it is empty, [data/gzip] and
  /// [data/tar] are thrown.
  OnBad on_damage = {};
};

/// Returns $XDG_CACHE_HOME/s2s/index or ~/.cache/s2s/index, or "" if neither variable is set.
std::string index_cache_folder();

/// Paths at which an index with `suffix` (".idx") of a file may be, the best first: beside the
/// file, then in the cache folder with a name made of its path and its stamp.
std::vector<std::string> index_paths(const DiskFile& file, const std::string& suffix);

/// Whether the index at `path`, one of `index_paths`, is older than the file's last change. The
/// time at which the kernel last changed the inode counts, too (files/source_state.h).
bool is_outdated(const std::string& path, const DiskFile& file);

/// The bytes of an index. They are mapped from the disk, or in memory if no file could be written.
class IndexBytes {
 public:
  virtual ~IndexBytes() = default;
  virtual std::string_view bytes() const = 0;
};

/// Returns null if there is no regular file at `path`.
std::shared_ptr<const IndexBytes> map_index(const std::string& path);

using IndexWriter = std::function<void(const std::function<void(std::string_view)>& append)>;

/// Calls `write`, which appends the index's bytes, for the first place that can store them. It is
/// called again for the next place if one fails (no permission, no space). The last place is
/// memory; it is also used for a file that changes while it is read.
std::shared_ptr<const IndexBytes> write_index(const DiskFile& file, const std::string& suffix,
                                              OpenOptions::Place place, const IndexWriter& write);

}  // namespace s2s::files
