#pragma once
// How work that is continued, and what is kept about a file, know that the file is as it was.
//
// The rule. What is read anyway is known by the hash of its content. A file that is not read is
// known by its stamp: size, inode, time of change, and the time at which the kernel last changed
// the inode, which no program can set back as it can the time of change. Another stamp counts as
// another content: work is done again rather than a change overlooked.

#include <sys/stat.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace s2s::files {

/// XXH64 with seed 0 of bytes that come in pieces.
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
/// Of a whole file. Errors: std::system_error when it cannot be read.
uint64_t content_hash_of_file(const std::string& path);

/// The time at which a program or the kernel last changed the file, nanoseconds since 1970.
int64_t changed_ns(const struct stat& status);
/// Hash of size, inode and times.
uint64_t stamp_of(const struct stat& status);
/// The same for a path; 0 where no file can be reached.
uint64_t stamp_of_file(const std::string& path);

/// What a piece of work was made of, in the order of adding.
class SourceState {
 public:
  /// Text that was read.
  void add(std::string_view text);
  /// A file by its stamp. Its absence counts, too.
  void add_file(const std::string& path);
  void add(uint64_t state);
  uint64_t value() const { return hash_.value(); }

 private:
  ContentHash hash_;
};

}  // namespace s2s::files
