#pragma once
// Detects whether a file has changed, for work that is continued and for what is stored about a
// file.
//
// The rule: a file that is read anyway is identified by the hash of its content. A file that is not
// read is identified by its stamp: size, inode, modification time and change time. A program can
// set the modification time, but not the change time, which the kernel keeps. A different stamp
// counts as different content; then work may be done again, but no change is overlooked.

#include <sys/stat.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace s2s::files {

/// XXH64 with seed 0 of bytes that arrive in pieces.
/// Source: the specification of xxHash, github.com/Cyan4973/xxHash.
class ContentHash {
 public:
  void add(std::string_view bytes);
  uint64_t value() const;

 private:
  static constexpr size_t kBlockBytes = 32;
  void add_block(const char* bytes);

  std::array<uint64_t, 4> lanes_ = {0x60EA27EEADC0B5D6, 0xC2B2AE3D27D4EB4F, 0, 0x61C8864E7A143579};
  std::array<char, kBlockBytes> waiting_ = {};
  size_t num_waiting_ = 0;
  uint64_t num_bytes_ = 0;
};

uint64_t content_hash(std::string_view bytes);
/// Hash of a whole file. Errors: std::system_error when it cannot be read.
uint64_t content_hash_of_file(const std::string& path);

/// The later of modification time and change time, in nanoseconds since 1970.
int64_t changed_ns(const struct stat& status);
/// Hash of size, inode and times.
uint64_t stamp_of(const struct stat& status);
/// Stamp of the file at `path`; 0 if it cannot be reached.
uint64_t stamp_of_file(const std::string& path);

/// A hash of all sources of a piece of work, in the order in which they are added.
class SourceState {
 public:
  /// Adds text that was read.
  void add(std::string_view text);
  /// Adds a file by its stamp. Its absence counts, too.
  void add_file(const std::string& path);
  void add(uint64_t state);
  uint64_t value() const { return hash_.value(); }

 private:
  ContentHash hash_;
};

}  // namespace s2s::files
