#pragma once
// What lies where in a zip archive.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace s2s {

/// One stored file; units: bytes, from the begin of the archive.
struct ZipEntry {
  uint64_t begin = 0;
  uint64_t size = 0;
};

/// Files of the archive by name. `bytes`: the archive; `path` is for messages.
/// Errors: [weights/format] for damaged archives and for files that are compressed, encrypted, lie
/// outside the archive or are there twice.
std::map<std::string, ZipEntry> read_zip_directory(const std::string& path, std::string_view bytes);

}  // namespace s2s
