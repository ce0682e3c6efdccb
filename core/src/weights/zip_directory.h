#pragma once
// What lies where in a zip archive.

#include <cstdint>
#include <map>
#include <string>

namespace s2s {

/// One stored file; units: bytes, from the begin of the archive.
struct ZipEntry {
  uint64_t begin = 0;
  uint64_t size = 0;
};

/// Files of the archive by name. `size`: bytes of the archive.
/// Errors: [weights/format] for damaged archives and for files that are compressed, encrypted, lie
/// outside the archive or are there twice.
std::map<std::string, ZipEntry> read_zip_directory(const std::string& path, uint64_t size);

}  // namespace s2s
