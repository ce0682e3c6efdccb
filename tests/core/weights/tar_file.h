#pragma once
// Tar archives that tests make, as Python's tarfile writes them.

#include <zlib.h>

#include <cstdio>
#include <string>

namespace s2s::test {

/// The header of a file (POSIX ustar) that says it has `num_bytes` bytes.
inline std::string tar_header(const std::string& name, size_t num_bytes) {
  std::string header(512, '\0');
  char size[13];
  std::snprintf(size, sizeof size, "%011zo", num_bytes);
  header.replace(0, name.size(), name);
  header.replace(100, 7, "0000644");
  header.replace(108, 7, "0000000");
  header.replace(116, 7, "0000000");
  header.replace(124, 11, size);
  header.replace(136, 11, "00000000000");
  header.replace(148, 8, "        ");
  header[156] = '0';
  header.replace(257, 8, std::string("ustar\00000", 8));
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  char checksum[8];
  std::snprintf(checksum, sizeof checksum, "%06o", sum);
  header.replace(148, 7, std::string(checksum, 7));
  return header;
}

/// One file of a tar archive, its data padded to whole blocks.
inline std::string tar_entry(const std::string& name, const std::string& data) {
  return tar_header(name, data.size()) + data + std::string((512 - data.size() % 512) % 512, '\0');
}

/// The end of an archive.
inline std::string tar_end() { return std::string(1024, '\0'); }

inline std::string gzip(const std::string& data) {
  std::string out(data.size() + data.size() / 100 + 100, '\0');
  z_stream stream{};
  deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace s2s::test
