#pragma once
// Opens any source of data as bytes.

#include <memory>
#include <string>

#include "files/byte_file.h"
#include "files/index_place.h"

namespace s2s::files {

/// Opens `source`, a path or "pipe:CMD". Gzip is recognized by its content and decompressed. The
/// content of small compressed files and the output of commands is kept in the options' cache while
/// there is room; a command is run again if its output was dropped. Large compressed files are read
/// through an index. With `with_lines`, the index of a large gzip file also has the offsets of
/// lines.
/// Errors: [data/missing-file] with `expected`, [data/gzip], [data/pipe], [data/url], [io/file].
std::shared_ptr<const ByteFile> open_bytes(const std::string& source, const OpenOptions& options,
                                           const std::string& expected, bool with_lines = false);

/// Returns all bytes of a source, decompressed. Errors: as above.
std::string read_all_bytes(const std::string& source, const std::string& expected);

}  // namespace s2s::files
