#include "weights/zip_directory.h"

#include <minizip/unzip.h>

#include <array>
#include <memory>

#include "weights/weights_errors.h"

namespace s2s {
namespace {

using weights_errors::torch_format;

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

std::map<std::string, ZipEntry> read_zip_directory(const std::string& path, uint64_t size) {
  const std::unique_ptr<void, CloseArchive> archive(unzOpen64(path.c_str()));
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
