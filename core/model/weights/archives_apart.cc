#include "weights/archives_apart.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/byte_codec.h"
#include "base/parser_process.h"
#include "weights/archives.h"
#include "weights/weight_mapping.h"
#include "weights/weights_errors.h"

namespace s2s {
namespace {

/// The files are the archive and the one to unpack to. The request: path and name.
std::string find_in_parser(std::string_view request, const std::vector<int>& files) {
  ByteReader reader(request);
  ReadingBudget budget{std::string(reader.text())};
  const std::string name(reader.text());
  const PackedMember found =
      find_packed_member(files.at(0), name, budget, [&] { return files.at(1); });
  ByteWriter bytes;
  bytes.number(found.is_plain ? 1 : 0);
  bytes.number(static_cast<int64_t>(found.begin));
  bytes.number(static_cast<int64_t>(found.size));
  return bytes.take();
}

/// The file has the archive. The request: path, begin and size.
std::string directory_in_parser(std::string_view request, const std::vector<int>& files) {
  ByteReader reader(request);
  ReadingBudget budget{std::string(reader.text())};
  const auto begin = static_cast<size_t>(reader.number());
  const auto size = static_cast<size_t>(reader.number());
  void* const mapped = ::mmap(nullptr, begin + size, PROT_READ, MAP_PRIVATE, files.at(0), 0);
  if (mapped == MAP_FAILED) {
    throw weights_errors::unreadable(budget.path(), std::strerror(errno));
  }
  const std::string_view archive(static_cast<char*>(mapped) + begin, size);
  const auto entries = read_zip_directory(budget, archive);
  ByteWriter bytes;
  bytes.number(static_cast<int64_t>(entries.size()));
  for (const auto& [name, entry] : entries) {
    bytes.text(name);
    bytes.number(static_cast<int64_t>(entry.begin));
    bytes.number(static_cast<int64_t>(entry.size));
  }
  return bytes.take();
}

}  // namespace

PackedMember find_packed_member_apart(const std::string& path, int file, const std::string& name,
                                      int unpacked) {
  constexpr int64_t kUnpackedBytesPerSecond = int64_t{20} << 20;  // of the slowest, xz
  ByteWriter request;
  request.text(path);
  request.text(name);
  struct stat facts {};
  ReadingBudget budget(path);
  if (::fstat(file, &facts) == 0) budget.admit(static_cast<uint64_t>(facts.st_size));
  ParserLimits limits;
  limits.file_bytes = static_cast<int64_t>(budget.most_bytes());
  limits.seconds += static_cast<int>(limits.file_bytes / kUnpackedBytesPerSecond);
  const std::string bytes =
      parse_apart(path, find_in_parser, request.take(), {file, unpacked}, limits);
  ByteReader reader(bytes);
  PackedMember found;
  found.is_plain = reader.flag();
  found.begin = static_cast<uint64_t>(reader.number_up_to(INT64_MAX));
  found.size = static_cast<uint64_t>(reader.number_up_to(INT64_MAX));
  return found;
}

std::map<std::string, ZipEntry> read_zip_directory(ReadingBudget& budget,
                                                   const ArchiveMember& zip) {
  if (!parses_apart()) {
    return read_zip_directory(budget, std::string_view(zip.mapping->begin() + zip.begin, zip.size));
  }
  ByteWriter request;
  request.text(budget.path());
  request.number(static_cast<int64_t>(zip.begin));
  request.number(static_cast<int64_t>(zip.size));
  const std::string bytes =
      parse_apart(budget.path(), directory_in_parser, request.take(), {zip.mapping->file()});
  ByteReader reader(bytes);
  std::map<std::string, ZipEntry> entries;
  for (size_t left = reader.count(); left > 0; --left) {
    std::string name(reader.text());
    ZipEntry entry;
    entry.begin = static_cast<uint64_t>(reader.number_up_to(static_cast<int64_t>(zip.size)));
    const uint64_t most = zip.size - entry.begin;
    entry.size = static_cast<uint64_t>(reader.number_up_to(static_cast<int64_t>(most)));
    entries.emplace(std::move(name), entry);
  }
  return entries;
}

}  // namespace s2s
