#pragma once
// Any source of data as bytes.

#include <memory>
#include <string>

#include "files/byte_file.h"
#include "files/index_place.h"

namespace s2s::files {

/// `source`: a path or "pipe:CMD"; gzip is recognized by its content and read decompressed. Small
/// compressed files and what commands write are held whole, in the options' cache while there is
/// room (a command is run again when it had to go); large ones are read through an index.
/// `with_lines`: the index of a large gzip file also has the offsets of lines.
/// Errors: [data/missing-file] with `expected`, [data/gzip], [data/pipe], [data/url], [io/file].
std::shared_ptr<const ByteFile> open_bytes(const std::string& source, const OpenOptions& options,
                                           const std::string& expected, bool with_lines = false);

/// All bytes of a source, decompressed. Errors: as above.
std::string read_all_bytes(const std::string& source, const std::string& expected);

}  // namespace s2s::files
