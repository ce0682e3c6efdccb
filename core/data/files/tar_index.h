#pragma once
// Access to members of tar archives by name and by number, and to Shar's pairs of data and
// manifest.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "files/byte_file.h"
#include "files/index_place.h"
#include "files/offset_index.h"
#include "files/tar_header.h"

namespace s2s::files {

/// All regular files of an archive, in order. Every header has been read.
class TarIndex {
 public:
  /// Opens `source`, a path or "pipe:CMD"; compressed archives are decompressed.
  /// Errors: [data/missing-file], [data/tar], those of open_bytes.
  static std::shared_ptr<const TarIndex> open(const std::string& source,
                                              const OpenOptions& options = {});
  explicit TarIndex(std::shared_ptr<const ByteFile> file);

  const std::vector<TarMember>& members() const { return members_; }
  /// Returns the first member of that name, or null.
  const TarMember* find(const std::string& name) const;
  const ByteFile& file() const { return *file_; }
  std::string data(const TarMember& member) const;

 private:
  std::shared_ptr<const ByteFile> file_;
  std::vector<TarMember> members_;
  std::unordered_map<std::string, size_t> by_name_;
};

struct TarPair {
  TarMember data;
  TarMember manifest;
  int64_t end = 0;  // offset of the next pair's first header, or the last offset of the index
  /// Whether the field is absent: ".nodata" and ".nometa".
  bool is_absent() const;
};

/// A Shar archive, in which pair `row` belongs to cut `row`. Thread-safe. It takes 8 bytes of
/// memory per pair, or none if there is an `.idx` file.
class TarPairs {
 public:
  /// With `options.on_damage`, opens the complete pairs before the damage.
  /// Errors: [data/missing-file], [data/tar] also for an odd number of members.
  static std::shared_ptr<const TarPairs> open(const std::string& source,
                                              const OpenOptions& options = {});

  int64_t size() const { return offsets_.size(); }
  /// Errors: [data/tar].
  TarPair pair(int64_t row) const;
  const ByteFile& file() const { return *file_; }
  std::string data(const TarMember& member) const;

 private:
  TarPairs(std::shared_ptr<const ByteFile> file, OffsetIndex offsets)
      : file_(std::move(file)), offsets_(std::move(offsets)) {}

  std::shared_ptr<const ByteFile> file_;
  OffsetIndex offsets_;
};

/// A member's name without its last extension. In Shar this is the cut's id.
std::string_view tar_stem(std::string_view name);

/// Lhotse 2's address of data in a tar: "TAR?o=BEGIN&e=END", maybe with "&n=NAME" and "&s=1".
struct SharPointer {
  std::string tar;
  int64_t begin = 0;
  int64_t end = 0;
  std::string member;  // "": the address has no name
};
/// Returns nothing if the text is not an address.
std::optional<SharPointer> parse_shar_pointer(std::string_view text);
std::string format_shar_pointer(const SharPointer& pointer);

/// Returns the data of the first regular member whose header is in [begin, end). If the pointer has
/// a name that is not there, returns the member of that name from anywhere in the archive.
/// Errors: [data/missing-file], [data/tar].
std::string read_shar_pointer(const SharPointer& pointer, const OpenOptions& options = {});

/// Writes "PATH.idx" for a Shar tar, as Lhotse does. Errors: [io/write], as TarPairs::open.
void write_tar_index(const std::string& path);

}  // namespace s2s::files
