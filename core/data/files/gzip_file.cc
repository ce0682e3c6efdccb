// GzipFile reads the content of a large gzip file block by block.

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "files/files_errors.h"
#include "files/gzip_index.h"

namespace s2s::files {
namespace {

constexpr int64_t kBlockBytes = int64_t{1} << 20;
constexpr const char* kSuffix = ".gzidx";

std::optional<GzipIndex> find_gzip_index(const DiskFile& file, bool with_lines) {
  for (const std::string& path : index_paths(file, kSuffix)) {
    const auto bytes = map_index(path);
    if (bytes == nullptr || is_outdated(path, file)) continue;
    try {
      GzipIndex index = GzipIndex::parse(bytes, bytes->bytes());
      const bool has_lines = index.lines().size() > 0 || index.content_bytes() == 0;
      if (index.compressed_bytes() == file.size() && (has_lines || !with_lines) &&
          index.fingerprint() == file_fingerprint(file)) {
        return index;
      }
    } catch (const std::runtime_error&) {  // not an index; a new one is made
    }
  }
  return std::nullopt;
}

GzipIndex index_of(const DiskFile& file, bool with_lines, const OpenOptions& options) {
  if (auto found = find_gzip_index(file, with_lines)) return *found;
  OpenOptions strict = options;
  strict.on_damage = {};
  const auto make = [&](OpenOptions::Place place, const OpenOptions& how) {
    const auto bytes = write_index(file, kSuffix, place, [&](const auto& append) {
      make_gzip_index(file, with_lines, kBlockBytes, how, append);
    });
    return GzipIndex::parse(bytes, bytes->bytes());
  };
  try {
    return make(options.place, strict);
  } catch (const Error& error) {
    if (!options.on_damage || error.id() != "data/gzip") throw;
    /// Do not leave a file that others could find.
    return make(OpenOptions::Place::kMemory, options);
  }
}

/// Fills all of `content` from offset `begin` on. Damage after it has no effect.
void fill(std::string& content, GzipStream& stream, int64_t begin) {
  size_t have = 0;
  try {
    while (have < content.size() && !stream.at_end()) {
      have += stream.read(content.data() + have, content.size() - have);
    }
  } catch (const std::runtime_error& error) {
    have = static_cast<size_t>(stream.out() - begin);
    if (have < content.size() || dynamic_cast<const Error*>(&error) != nullptr) throw;
  }
  if (have < content.size()) throw std::runtime_error("it has become shorter");
}

}  // namespace

GzipFile::GzipFile(std::unique_ptr<DiskFile> file, bool with_lines, const OpenOptions& options)
    : ByteFile(file->name()),
      file_(std::move(file)),
      cache_(options.cache ? options.cache : std::make_shared<ByteCache>()),
      index_(index_of(*file_, with_lines, options)) {}

std::string GzipFile::inflate_block(int64_t block) const {
  const int64_t begin = index_.block_begin(block);
  const int64_t length = index_.block_begin(block + 1) - begin;
  try {
    if (length < 0) throw std::runtime_error("the points of its index do not grow");
    if (length > kContentBytes) {
      throw files_errors::too_much_content(name(), file_->size(), kContentBytes);
    }
    GzipStream stream(*file_, index_.point(block));
    std::string content(static_cast<size_t>(length), '\0');
    fill(content, stream, begin);
    return content;
  } catch (const std::runtime_error& error) {
    if (dynamic_cast<const Error*>(&error) != nullptr) throw;
    throw files_errors::gzip_bytes(name(), begin, error.what());
  }
}

void GzipFile::read(int64_t offset, void* to, size_t num_bytes) const {
  S2S_ASSERT(offset >= 0 && offset <= size() && num_bytes <= static_cast<size_t>(size() - offset),
             "the caller knows the size");
  char* rest = static_cast<char*>(to);
  while (num_bytes > 0) {
    const int64_t block = index_.block_of(offset);
    const auto content =
        cache_->get(name() + '\0' + std::to_string(block), [&] { return inflate_block(block); });
    const auto within = static_cast<size_t>(offset - index_.block_begin(block));
    S2S_ASSERT(within < content->size(), "blocks follow each other");
    const size_t taken = std::min(num_bytes, content->size() - within);
    std::memcpy(rest, content->data() + within, taken);
    rest += taken;
    offset += static_cast<int64_t>(taken);
    num_bytes -= taken;
  }
}

}  // namespace s2s::files
