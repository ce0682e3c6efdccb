#include "weights/zip_directory.h"

#include <minizip/unzip.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "weights/weights_errors.h"

namespace s2s {
namespace {

using weights_errors::torch_format;

/// Bytes in memory as minizip reads files.
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
  const uint64_t to = base + offset;  // wraps where the offset is a negative number
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

/// The entry that the archive stands at. `name` is set.
ZipEntry current_entry(const std::string& path, unzFile archive, std::string& name) {
  unz_file_info64 facts{};
  std::array<char, 1024> text{};
  if (unzGetCurrentFileInfo64(archive, &facts, text.data(), text.size() - 1, nullptr, 0, nullptr,
                              0) != UNZ_OK) {
    throw torch_format(path, "an entry of the archive cannot be read");
  }
  name = text.data();
  if (facts.size_filename >= text.size()) throw torch_format(path, "a name in it is too long");
  const std::string where = "'" + name + "' in it ";
  if ((facts.flag & 1U) != 0) throw torch_format(path, where + "is encrypted");
  if (facts.compression_method != 0 || facts.compressed_size != facts.uncompressed_size) {
    throw torch_format(path, where +
                                 "is compressed, which torch.save does not do; unpack the "
                                 "archive and pack it without compression");
  }
  if (unzOpenCurrentFile(archive) != UNZ_OK) throw torch_format(path, where + "cannot be opened");
  const ZipEntry entry{unzGetCurrentFileZStreamPos64(archive), facts.uncompressed_size};
  unzCloseCurrentFile(archive);
  return entry;
}

}  // namespace

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
      throw torch_format(path, "'" + name + "' in it ends after the file does");
    }
    if (!entries.emplace(name, entry).second) {
      throw torch_format(path, "'" + name + "' is in it twice");
    }
  }
  if (status != UNZ_END_OF_LIST_OF_FILE) throw torch_format(path, "its directory is damaged");
  return entries;
}

}  // namespace s2s
