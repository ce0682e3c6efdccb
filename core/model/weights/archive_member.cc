#include "weights/archive_member.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "weights/weight_mapping.h"
#include "weights/weights_errors.h"

namespace s2s {
namespace {

using weights_errors::torch_format;

struct FreeArchive {
  void operator()(archive* opened) const { archive_read_free(opened); }
};
using Archive = std::unique_ptr<archive, FreeArchive>;

[[noreturn]] void throw_damaged(const std::string& path, archive* opened) {
  const char* why = archive_error_string(opened);
  throw torch_format(
      path, fmt::format("the archive cannot be read: {}", why == nullptr ? "it is damaged" : why));
}

Archive open_archive(const std::string& path) {
  Archive opened(archive_read_new());
  S2S_ASSERT(opened != nullptr, "there is memory for a reader");
  // Not all of them: some start a program.
  archive_read_support_filter_gzip(opened.get());
  archive_read_support_filter_bzip2(opened.get());
  archive_read_support_filter_xz(opened.get());
  archive_read_support_filter_zstd(opened.get());
  archive_read_support_format_tar(opened.get());
  constexpr size_t kBlockBytes = 1 << 16;
  if (archive_read_open_filename(opened.get(), path.c_str(), kBlockBytes) != ARCHIVE_OK) {
    throw_damaged(path, opened.get());
  }
  // Of n bytes, each further layer makes a thousand times as many.
  constexpr int kOneLayer = 2;  // and the file itself
  if (archive_filter_count(opened.get()) > kOneLayer) {
    throw torch_format(path, "the archive is compressed more than once");
  }
  return opened;
}

/// Reads up to the member's header; returns its size in bytes.
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
        throw torch_format(path, fmt::format("{} in the archive is stored with holes", name));
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

/// A file that is gone when it is closed.
int open_temporary() {
  const std::string folder = std::filesystem::temp_directory_path().string();
  const int file = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file >= 0) return file;
  std::string pattern = folder + "/s2s-XXXXXX";  // a file system without O_TMPFILE
  const int named = ::mkostemp(pattern.data(), O_CLOEXEC);
  if (named < 0) throw weights_errors::unreadable(folder, std::strerror(errno));
  ::unlink(pattern.c_str());
  return named;
}

ArchiveMember checked(const std::string& path, ArchiveMember member) {
  const uint64_t there = member.mapping->size();
  if (member.begin > there || member.size > there - member.begin) {
    throw torch_format(path, "the member that is wanted ends after the archive does");
  }
  return member;
}

/// Weights hardly compress: what gives more than this was made to fill a disk.
void check_unpacked_size(const std::string& path, uint64_t size) {
  constexpr uint64_t kAnyBytes = uint64_t{256} << 20;
  constexpr uint64_t kMaxRatio = 100;
  const uint64_t packed = std::filesystem::file_size(path);
  if (size <= kAnyBytes || size / kMaxRatio <= packed) return;
  throw torch_format(
      path, fmt::format("a member of {} bytes comes out of an archive of {}; at most {} times as "
                        "many, or 256 MiB, are unpacked: unpack it yourself if it is meant",
                        size, packed, kMaxRatio));
}

ArchiveMember unpack(const std::string& path, archive* opened, uint64_t size) {
  check_unpacked_size(path, size);
  const int file = open_temporary();
  if (archive_read_data_into_fd(opened, file) != ARCHIVE_OK) {
    ::close(file);
    throw_damaged(path, opened);
  }
  return checked(path, {std::make_shared<WeightMapping>(file, path), 0, size});
}

}  // namespace

bool is_archive(std::string_view first_bytes) {
  constexpr size_t kMagic = 257;  // of a tar header
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
  const Archive opened = open_archive(path);
  const uint64_t size = find_member(path, opened.get(), name);
  const bool is_plain = archive_filter_code(opened.get(), 0) == ARCHIVE_FILTER_NONE;
  if (!is_plain) return unpack(path, opened.get(), size);
  // Behind the header that was just read.
  const auto begin = static_cast<uint64_t>(archive_filter_bytes(opened.get(), 0));
  return checked(path, {std::make_shared<WeightMapping>(path), begin, size});
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
