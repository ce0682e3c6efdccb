#pragma once
// A file in memory to which libsndfile writes. Encoders seek back to complete their headers.

#include <sndfile.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

namespace s2s::data {

struct MemoryFile {
  std::string bytes;
  sf_count_t position = 0;

  /// For sf_open_virtual with a MemoryFile as user data.
  static SF_VIRTUAL_IO calls() { return {size, seek, read, write, tell}; }

 private:
  static MemoryFile& of(void* file) { return *static_cast<MemoryFile*>(file); }
  static sf_count_t size(void* file) { return static_cast<sf_count_t>(of(file).bytes.size()); }
  static sf_count_t tell(void* file) { return of(file).position; }
  static sf_count_t seek(sf_count_t offset, int whence, void* file) {
    if (whence == SEEK_CUR) offset += of(file).position;
    if (whence == SEEK_END) offset += size(file);
    return of(file).position = std::max<sf_count_t>(0, offset);
  }
  static sf_count_t read(void* to, sf_count_t count, void* file) {
    count = std::min(count, std::max<sf_count_t>(0, size(file) - of(file).position));
    std::memcpy(to, of(file).bytes.data() + of(file).position, static_cast<size_t>(count));
    of(file).position += count;
    return count;
  }
  static sf_count_t write(const void* from, sf_count_t count, void* file) {
    const auto end = static_cast<size_t>(of(file).position + count);
    if (of(file).bytes.size() < end) of(file).bytes.resize(end);
    std::memcpy(of(file).bytes.data() + of(file).position, from, static_cast<size_t>(count));
    of(file).position += count;
    return count;
  }
};

}  // namespace s2s::data
