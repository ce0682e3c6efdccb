#pragma once
// Zip archives (files of torch.save), and files inside of tar archives (.nemo: model_config.yaml,
// model_weights.ckpt, a tokenizer's files). Both are read where they are: nothing is unpacked under
// a name that an archive chooses.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace s2s {

class WeightMapping;

/// One stored file; units: bytes, from the begin of the archive.
struct ZipEntry {
  uint64_t begin = 0;
  uint64_t size = 0;
};

/// Files of the archive by name. `bytes`: the archive; `path` is for messages.
/// Errors: [weights/format] for damaged archives and for files that are compressed, encrypted, lie
/// outside the archive or are there twice.
std::map<std::string, ZipEntry> read_zip_directory(const std::string& path, std::string_view bytes);

/// True for tar archives and for compressed files, which may hold one.
bool is_archive(std::string_view first_bytes);

/// Bytes begin .. begin + size - 1 of a mapped file.
struct ArchiveMember {
  std::shared_ptr<WeightMapping> mapping;
  uint64_t begin = 0;
  uint64_t size = 0;
};

/// The member whose last path component is `name`: a part of the mapped archive itself, or, where
/// the archive is compressed, of a temporary file without a name.
/// Errors: [weights/format] for damaged archives and those without it, with the names that are
/// there; [weights/unreadable].
ArchiveMember open_archive_member(const std::string& path, const std::string& name);

/// A member that is a text of at most `max_bytes`. Errors: as above.
std::string read_archive_text(const std::string& path, const std::string& name, uint64_t max_bytes);

}  // namespace s2s
