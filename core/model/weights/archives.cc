#include "weights/archives.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <minizip/unzip.h>
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

#include "base/parser_process.h"
#include "base/write_whole.h"
#include "weights/archives_apart.h"
#include "weights/weight_mapping.h"
#include "weights/weights_errors.h"

namespace s2s {
namespace {

using weights_errors::torch_format;

/// Bytes in memory that minizip reads like a file.
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

/// Weights are hardly compressible. A higher ratio indicates a file made to fill the disk, or to
/// take time: a member that is skipped is unpacked, too. `to`: where the member ends in the
/// content.
void check_unpacked_size(const ReadingBudget& budget, const std::string& member, uint64_t size,
                         uint64_t to) {
  if (to <= budget.most_bytes()) return;
  throw torch_format(
      budget.path(),
      fmt::format("an archive of {} bytes contains a member of {} bytes, '{}', which ends at byte "
                  "{} of the content; at most {} times the size of the archive, or 256 MiB, are "
                  "unpacked; unpack it yourself if you trust it",
                  std::filesystem::file_size(budget.path()), size, member, to,
                  ReadingBudget::kBytesPerByte));
}

/// Reads up to the member's header. Returns the member's size in bytes.
uint64_t find_member(archive* opened, const std::string& name, ReadingBudget& budget) {
  const std::string& path = budget.path();
  const bool is_packed = archive_filter_code(opened, 0) != ARCHIVE_FILTER_NONE;
  std::vector<std::string> names;
  archive_entry* entry = nullptr;
  int status = ARCHIVE_OK;
  while ((status = archive_read_next_header(opened, &entry)) == ARCHIVE_OK) {
    const char* text = archive_entry_pathname(entry);
    const std::string found = text == nullptr ? "" : text;
    const bool is_file = archive_entry_filetype(entry) == AE_IFREG;
    budget.keep_time();
    if (is_packed) {
      const auto size = static_cast<uint64_t>(std::max<int64_t>(archive_entry_size(entry), 0));
      const auto before = static_cast<uint64_t>(archive_filter_bytes(opened, 0));
      check_unpacked_size(budget, found, size, before + size);
    }
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

/// Writes the member's content to `file`.
void unpack(archive* opened, int file, ReadingBudget& budget) {
  budget.take_bytes(static_cast<uint64_t>(archive_filter_bytes(opened, 0)));
  const void* block = nullptr;
  size_t bytes = 0;
  la_int64_t at = 0;
  int status = ARCHIVE_OK;
  while ((status = archive_read_data_block(opened, &block, &bytes, &at)) == ARCHIVE_OK) {
    budget.take_bytes(bytes);
    if (write_whole(file, block, bytes)) continue;
    throw weights_errors::unreadable(std::filesystem::temp_directory_path().string(),
                                     std::strerror(errno));
  }
  if (status != ARCHIVE_EOF) throw_damaged(budget.path(), opened);
}

int open_packed(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // of a named pipe, too
  if (file < 0) throw weights_errors::unreadable(path, std::strerror(errno));
  return file;
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

/// Entries of one archive that share bytes would be read many times.
void check_entries_are_separate(const std::string& path,
                                const std::map<std::string, ZipEntry>& entries) {
  std::vector<std::pair<ZipEntry, const std::string*>> order;
  for (const auto& [name, entry] : entries) {
    if (entry.size > 0) order.emplace_back(entry, &name);
  }
  std::sort(order.begin(), order.end(),
            [](const auto& a, const auto& b) { return a.first.begin < b.first.begin; });
  for (size_t i = 1; i < order.size(); ++i) {
    const ZipEntry& before = order[i - 1].first;
    if (before.begin + before.size <= order[i].first.begin) continue;
    throw torch_format(path, fmt::format("entries '{}' and '{}' have bytes in common",
                                         *order[i - 1].second, *order[i].second));
  }
}

}  // namespace

std::map<std::string, ZipEntry> read_zip_directory(ReadingBudget& budget, std::string_view bytes) {
  const std::string& path = budget.path();
  Reading source{bytes, 0};
  const uint64_t size = bytes.size();
  const std::unique_ptr<void, CloseArchive> archive(open_in_memory(source));
  if (archive == nullptr) throw torch_format(path, "the archive's directory is missing or damaged");
  std::map<std::string, ZipEntry> entries;
  int status = unzGoToFirstFile(archive.get());
  for (; status == UNZ_OK; status = unzGoToNextFile(archive.get())) {
    std::string name;
    const ZipEntry entry = current_entry(path, archive.get(), name);
    constexpr uint64_t kEntryBytes = 46;  // of the directory, besides the name
    budget.admit(kEntryBytes + name.size());
    budget.take_values(kEntryBytes);
    if (entry.begin > size || entry.size > size - entry.begin) {
      throw torch_format(path, "entry '" + name + "' extends beyond the end of the file");
    }
    if (!entries.emplace(name, entry).second) {
      throw torch_format(path, "entry '" + name + "' occurs twice");
    }
  }
  if (status != UNZ_END_OF_LIST_OF_FILE)
    throw torch_format(path, "the archive's directory is damaged");
  check_entries_are_separate(path, entries);
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

PackedMember find_packed_member(int file, const std::string& name, ReadingBudget& budget,
                                const std::function<int()>& unpacked) {
  const Archive opened = open_archive(budget.path(), file);
  PackedMember found;
  found.is_plain = archive_filter_code(opened.get(), 0) == ARCHIVE_FILTER_NONE;
  if (!found.is_plain) budget.admit(std::filesystem::file_size(budget.path()));
  found.size = find_member(opened.get(), name, budget);
  // It begins after the header that was just read.
  if (found.is_plain) found.begin = static_cast<uint64_t>(archive_filter_bytes(opened.get(), 0));
  if (!found.is_plain) unpack(opened.get(), unpacked(), budget);
  return found;
}

ArchiveMember open_archive_member(const std::string& path, const std::string& name,
                                  ReadingBudget& budget) {
  HeldFile packed(open_packed(path)), unpacked;
  const auto to_unpack = [&] {
    unpacked.hold(open_temporary());
    return unpacked.get();
  };
  const PackedMember found = parses_apart()
                                 ? find_packed_member_apart(path, packed.get(), name, to_unpack())
                                 : find_packed_member(packed.get(), name, budget, to_unpack);
  HeldFile& holder = found.is_plain ? packed : unpacked;
  auto mapping = std::make_shared<WeightMapping>(holder.release(), path);
  return checked(path, {std::move(mapping), found.begin, found.size});
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
