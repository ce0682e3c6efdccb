#include "weights/archives.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <minizip/unzip.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/byte_codec.h"
#include "base/parser_process.h"
#include "weights/weight_mapping.h"
#include "weights/weights_errors.h"

namespace s2s {
namespace {

using weights_errors::torch_format;

/// Bytes in memory, behind the file interface of minizip.
struct Reading {
  std::string_view bytes;
  uint64_t at = 0;
};

Reading& reading(voidpf stream) { return *static_cast<Reading*>(stream); }

uLong read_some(voidpf /*opaque*/, voidpf stream, void* to, uLong size) {
  Reading& from = reading(stream);
  const uint64_t count = std::min<uint64_t>(size, from.bytes.size() - from.at);
  std::memcpy(to, from.bytes.data() + from.at, count);
  from.at += count;
  return count;
}

long seek_to(voidpf /*opaque*/, voidpf stream, ZPOS64_T offset, int origin) {
  Reading& from = reading(stream);
  const uint64_t base = origin == ZLIB_FILEFUNC_SEEK_CUR   ? from.at
                        : origin == ZLIB_FILEFUNC_SEEK_END ? from.bytes.size()
                                                           : 0;
  const uint64_t to = base + offset;  // wraps around when the offset is negative
  if (to > from.bytes.size()) return -1;
  from.at = to;
  return 0;
}

unzFile open_in_memory(Reading& bytes) {
  zlib_filefunc64_def calls{};
  calls.opaque = &bytes;
  calls.zopen64_file = [](voidpf opaque, const void*, int) { return opaque; };
  calls.zread_file = read_some;
  calls.zwrite_file = [](voidpf, voidpf, const void*, uLong) -> uLong { return 0; };
  calls.ztell64_file = [](voidpf, voidpf stream) -> ZPOS64_T { return reading(stream).at; };
  calls.zseek64_file = seek_to;
  calls.zclose_file = [](voidpf, voidpf) { return 0; };
  calls.zerror_file = [](voidpf, voidpf) { return 0; };
  return unzOpen2_64("", &calls);
}

struct CloseArchive {
  void operator()(void* archive) const { unzClose(archive); }
};

/// Returns the current entry of the archive. Sets `name`.
ZipEntry current_entry(const std::string& path, unzFile archive, std::string& name) {
  unz_file_info64 facts{};
  std::array<char, 1024> text{};
  if (unzGetCurrentFileInfo64(archive, &facts, text.data(), text.size() - 1, nullptr, 0, nullptr,
                              0) != UNZ_OK) {
    throw torch_format(path, "an entry of the archive cannot be read");
  }
  name = text.data();
  if (facts.size_filename >= text.size())
    throw torch_format(path, "the name of an entry is too long");
  const std::string where = "entry '" + name + "' ";
  if ((facts.flag & 1U) != 0) throw torch_format(path, where + "is encrypted");
  if (facts.compression_method != 0 || facts.compressed_size != facts.uncompressed_size) {
    throw torch_format(path, where +
                                 "is compressed, but torch.save does not compress entries; unpack "
                                 "the archive and pack it without compression");
  }
  if (unzOpenCurrentFile(archive) != UNZ_OK) throw torch_format(path, where + "cannot be opened");
  const ZipEntry entry{unzGetCurrentFileZStreamPos64(archive), facts.uncompressed_size};
  unzCloseCurrentFile(archive);
  return entry;
}

/// Closes a file at the end.
class HeldFile {
 public:
  explicit HeldFile(int file = -1) : file_(file) {}
  ~HeldFile() {
    if (file_ >= 0) ::close(file_);
  }
  HeldFile(const HeldFile&) = delete;
  HeldFile& operator=(const HeldFile&) = delete;
  int get() const { return file_; }
  void hold(int file) { file_ = file; }
  int release() { return std::exchange(file_, -1); }

 private:
  int file_;
};

struct FreeArchive {
  void operator()(archive* opened) const { archive_read_free(opened); }
};
using Archive = std::unique_ptr<archive, FreeArchive>;

[[noreturn]] void throw_damaged(const std::string& path, archive* opened) {
  const char* why = archive_error_string(opened);
  throw torch_format(
      path, fmt::format("the archive cannot be read: {}", why == nullptr ? "it is damaged" : why));
}

Archive open_archive(const std::string& path, int file) {
  Archive opened(archive_read_new());
  S2S_ASSERT(opened != nullptr, "there is memory for a reader");
  // Not all filters: some start an external program.
  archive_read_support_filter_gzip(opened.get());
  archive_read_support_filter_bzip2(opened.get());
  archive_read_support_filter_xz(opened.get());
  archive_read_support_filter_zstd(opened.get());
  archive_read_support_format_tar(opened.get());
  constexpr size_t kBlockBytes = 1 << 16;
  if (archive_read_open_fd(opened.get(), file, kBlockBytes) != ARCHIVE_OK) {
    throw_damaged(path, opened.get());
  }
  // Each further layer of compression can multiply the size by a thousand.
  constexpr int kOneLayer = 2;  // one filter and the file itself
  if (archive_filter_count(opened.get()) > kOneLayer) {
    throw torch_format(path, "the archive is compressed more than once");
  }
  return opened;
}

/// Reads up to the member's header. Returns the member's size in bytes.
uint64_t find_member(const std::string& path, archive* opened, const std::string& name) {
  std::vector<std::string> names;
  archive_entry* entry = nullptr;
  int status = ARCHIVE_OK;
  while ((status = archive_read_next_header(opened, &entry)) == ARCHIVE_OK) {
    const char* text = archive_entry_pathname(entry);
    const std::string found = text == nullptr ? "" : text;
    const bool is_file = archive_entry_filetype(entry) == AE_IFREG;
    if (is_file && std::filesystem::path(found).filename() == name) {
      if (archive_entry_sparse_count(entry) > 0) {
        throw torch_format(
            path, fmt::format("{} in the archive is a sparse file, which is not supported", name));
      }
      return static_cast<uint64_t>(archive_entry_size(entry));
    }
    if (names.size() < 40) names.push_back("'" + found + "'");
  }
  if (status != ARCHIVE_EOF) throw_damaged(path, opened);
  throw torch_format(
      path, fmt::format("the archive has no {}; it has {}", name,
                        names.empty() ? "nothing" : fmt::format("{}", fmt::join(names, ", "))));
}

int open_packed(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // of a named pipe, too
  if (file < 0) throw weights_errors::unreadable(path, std::strerror(errno));
  return file;
}

/// Opens a temporary file that is deleted when it is closed.
int open_temporary() {
  const std::string folder = std::filesystem::temp_directory_path().string();
  const int file = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file >= 0) return file;
  std::string pattern = folder + "/s2s-XXXXXX";  // for a file system without O_TMPFILE
  const int named = ::mkostemp(pattern.data(), O_CLOEXEC);
  if (named < 0) throw weights_errors::unreadable(folder, std::strerror(errno));
  ::unlink(pattern.c_str());
  return named;
}

ArchiveMember checked(const std::string& path, ArchiveMember member) {
  const uint64_t there = member.mapping->size();
  if (member.begin > there || member.size > there - member.begin) {
    throw torch_format(path, "the requested member extends beyond the end of the archive");
  }
  return member;
}

constexpr uint64_t kMaxRatio = 100;
constexpr int64_t kUnpackedBytesPerSecond = int64_t{20} << 20;  // of the slowest, xz

/// Weights are hardly compressible. A higher ratio indicates a file made to fill the disk.
uint64_t most_unpacked_bytes(int packed) {
  constexpr uint64_t kAnyBytes = uint64_t{256} << 20;
  struct stat facts {};
  const bool is_known = ::fstat(packed, &facts) == 0;
  return std::max(kAnyBytes, kMaxRatio * (is_known ? static_cast<uint64_t>(facts.st_size) : 0));
}

void check_unpacked_size(const std::string& path, int packed, uint64_t size) {
  if (size <= most_unpacked_bytes(packed)) return;
  struct stat facts {};
  ::fstat(packed, &facts);
  throw torch_format(
      path,
      fmt::format("an archive of {} bytes contains a member of {} bytes; at most {} times the "
                  "size of the archive, or 256 MiB, are unpacked; unpack it yourself if you "
                  "trust it",
                  facts.st_size, size, kMaxRatio));
}

/// A member of an archive. Units: bytes.
struct PackedMember {
  bool is_plain = false;  // `begin` is its place in the archive
  uint64_t begin = 0;
  uint64_t size = 0;
};

/// Opens the archive, and writes the member of a compressed one to `unpacked`.
PackedMember find_packed(const std::string& path, int file, const std::string& name,
                         const std::function<int()>& unpacked) {
  const Archive opened = open_archive(path, file);
  PackedMember found;
  found.size = find_member(path, opened.get(), name);
  found.is_plain = archive_filter_code(opened.get(), 0) == ARCHIVE_FILTER_NONE;
  if (found.is_plain) {  // it begins after the header that was just read
    found.begin = static_cast<uint64_t>(archive_filter_bytes(opened.get(), 0));
    return found;
  }
  check_unpacked_size(path, file, found.size);
  if (archive_read_data_into_fd(opened.get(), unpacked()) != ARCHIVE_OK) {
    throw_damaged(path, opened.get());
  }
  return found;
}

/// In a parser process, whose files are the archive and the one to unpack to. The request: path and
/// name.
std::string find_in_parser(std::string_view request, const std::vector<int>& files) {
  ByteReader reader(request);
  const std::string path(reader.text());
  const std::string name(reader.text());
  const PackedMember found = find_packed(path, files.at(0), name, [&] { return files.at(1); });
  ByteWriter bytes;
  bytes.number(found.is_plain ? 1 : 0);
  bytes.number(static_cast<int64_t>(found.begin));
  bytes.number(static_cast<int64_t>(found.size));
  return bytes.take();
}

PackedMember find_apart(const std::string& path, int packed, const std::string& name,
                        int unpacked) {
  ByteWriter request;
  request.text(path);
  request.text(name);
  ParserLimits limits;
  limits.file_bytes = static_cast<int64_t>(most_unpacked_bytes(packed));
  limits.seconds += static_cast<int>(limits.file_bytes / kUnpackedBytesPerSecond);
  const std::string bytes =
      parse_apart(path, find_in_parser, request.take(), {packed, unpacked}, limits);
  ByteReader reader(bytes);
  PackedMember found;
  found.is_plain = reader.flag();
  found.begin = static_cast<uint64_t>(reader.number_up_to(INT64_MAX));
  found.size = static_cast<uint64_t>(reader.number_up_to(INT64_MAX));
  return found;
}

/// In a parser process, whose file has the archive. The request: path, begin and size.
std::string directory_in_parser(std::string_view request, const std::vector<int>& files) {
  ByteReader reader(request);
  const std::string path(reader.text());
  const auto begin = static_cast<size_t>(reader.number());
  const auto size = static_cast<size_t>(reader.number());
  void* const mapped = ::mmap(nullptr, begin + size, PROT_READ, MAP_PRIVATE, files.at(0), 0);
  if (mapped == MAP_FAILED) throw weights_errors::unreadable(path, std::strerror(errno));
  ByteWriter bytes;
  const auto entries = read_zip_directory(path, {static_cast<char*>(mapped) + begin, size});
  bytes.number(static_cast<int64_t>(entries.size()));
  for (const auto& [name, entry] : entries) {
    bytes.text(name);
    bytes.number(static_cast<int64_t>(entry.begin));
    bytes.number(static_cast<int64_t>(entry.size));
  }
  return bytes.take();
}

}  // namespace

std::map<std::string, ZipEntry> read_zip_directory(const std::string& path,
                                                   const ArchiveMember& zip) {
  if (!parses_apart())
    return read_zip_directory(path, {zip.mapping->begin() + zip.begin, zip.size});
  ByteWriter request;
  request.text(path);
  request.number(static_cast<int64_t>(zip.begin));
  request.number(static_cast<int64_t>(zip.size));
  const std::string bytes =
      parse_apart(path, directory_in_parser, request.take(), {zip.mapping->file()});
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

std::map<std::string, ZipEntry> read_zip_directory(const std::string& path,
                                                   std::string_view bytes) {
  Reading source{bytes, 0};
  const uint64_t size = bytes.size();
  const std::unique_ptr<void, CloseArchive> archive(open_in_memory(source));
  if (archive == nullptr) throw torch_format(path, "the archive's directory is missing or damaged");
  std::map<std::string, ZipEntry> entries;
  int status = unzGoToFirstFile(archive.get());
  for (; status == UNZ_OK; status = unzGoToNextFile(archive.get())) {
    std::string name;
    const ZipEntry entry = current_entry(path, archive.get(), name);
    if (entry.begin > size || entry.size > size - entry.begin) {
      throw torch_format(path, "entry '" + name + "' extends beyond the end of the file");
    }
    if (!entries.emplace(name, entry).second) {
      throw torch_format(path, "entry '" + name + "' occurs twice");
    }
  }
  if (status != UNZ_END_OF_LIST_OF_FILE)
    throw torch_format(path, "the archive's directory is damaged");
  return entries;
}

bool is_archive(std::string_view first_bytes) {
  constexpr size_t kMagic = 257;  // offset in a tar header
  if (first_bytes.size() > kMagic + 5 && first_bytes.substr(kMagic, 5) == "ustar") return true;
  for (const std::string_view magic : {"\x1f\x8b", "\x28\xb5\x2f\xfd",
                                       "\xfd"
                                       "7zXZ",
                                       "BZh"}) {
    if (first_bytes.starts_with(magic)) return true;
  }
  return false;
}

ArchiveMember open_archive_member(const std::string& path, const std::string& name) {
  HeldFile packed(open_packed(path)), unpacked;
  const auto to_unpack = [&] {
    unpacked.hold(open_temporary());
    return unpacked.get();
  };
  const PackedMember found = parses_apart() ? find_apart(path, packed.get(), name, to_unpack())
                                            : find_packed(path, packed.get(), name, to_unpack);
  HeldFile& holder = found.is_plain ? packed : unpacked;
  return checked(
      path, {std::make_shared<WeightMapping>(holder.release(), path), found.begin, found.size});
}

std::string read_archive_text(const std::string& path, const std::string& name,
                              uint64_t max_bytes) {
  const ArchiveMember member = open_archive_member(path, name);
  if (member.size > max_bytes) {
    throw torch_format(path, fmt::format("{} in the archive has {} bytes, expected at most {}",
                                         name, member.size, max_bytes));
  }
  return {member.mapping->begin() + member.begin, member.size};
}

}  // namespace s2s
