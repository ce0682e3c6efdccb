#pragma once
// Reads zip archives (files of torch.save), and files inside tar archives (.nemo:
// model_config.yaml, model_weights.ckpt, the tokenizer's files). Nothing is unpacked under a name
// from the archive.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/reading_budget.h"

namespace s2s {

class WeightMapping;

/// A stored file. Units: bytes from the begin of the archive.
struct ZipEntry {
  uint64_t begin = 0;
  uint64_t size = 0;
};

/// Returns the files of the archive by name. `bytes`: the archive. `budget` is that of
/// the file; its path is for messages. Errors: [io/too-much]; [weights/format] for damaged archives
/// and for files that are compressed, encrypted, outside of the archive or repeated, or that have
/// bytes in common.
std::map<std::string, ZipEntry> read_zip_directory(ReadingBudget& budget, std::string_view bytes);

/// Returns true for tar archives, and for compressed files, which may contain one.
bool is_archive(std::string_view first_bytes);

/// Bytes begin .. begin + size - 1 of a mapped file.
struct ArchiveMember {
  std::shared_ptr<WeightMapping> mapping;
  uint64_t begin = 0;
  uint64_t size = 0;
};

/// The same for an archive in a mapped file; in a parser process where parsers run apart.
std::map<std::string, ZipEntry> read_zip_directory(ReadingBudget& budget, const ArchiveMember& zip);

/// Opens the member whose last path component is `name`. The result is a part of the mapped
/// archive, or for a compressed archive a mapping of an unnamed temporary file. What is unpacked
/// for it, the members before it included, is charged to `budget` before it is unpacked. Errors:
/// [io/too-much]; [weights/format] for damaged archives, and when there is no such member, with the
/// names that exist; [weights/unreadable].
ArchiveMember open_archive_member(const std::string& path, const std::string& name,
                                  ReadingBudget& budget);
inline ArchiveMember open_archive_member(const std::string& path, const std::string& name) {
  ReadingBudget budget(path);
  return open_archive_member(path, name, budget);
}

/// Returns a member as text of at most `max_bytes`. Errors: as above.
std::string read_archive_text(const std::string& path, const std::string& name, uint64_t max_bytes);

}  // namespace s2s
