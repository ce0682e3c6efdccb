#include "files/open_bytes.h"

#include <cstring>

#include "files/files_errors.h"
#include "files/gzip_index.h"
#include "files/gzip_stream.h"
#include "files/pipe_command.h"

namespace s2s::files {
namespace {

/// Compressed files up to this size are kept in memory if their content is not larger than this.
constexpr int64_t kWholeFileBytes = int64_t{1} << 20;
constexpr int64_t kWholeContentBytes = int64_t{16} << 20;

std::string decompressed(const std::string& name, std::string bytes, bool with_lines = false,
                         const OnBad& on_damage = {}) {
  if (!is_gzip(bytes)) return bytes;
  const auto num_bytes = static_cast<int64_t>(bytes.size());
  const int64_t most_bytes = most_content_bytes(num_bytes);
  try {
    return inflate_whole(MemoryFile(name, std::make_shared<const std::string>(std::move(bytes))),
                         {with_lines, on_damage, most_bytes});
  } catch (const TooMuchContent&) {
    throw files_errors::too_much_content(name, num_bytes, most_bytes);
  }
}

/// Content that is made as a whole. It is made again if the cache had no room for it. The
/// constructor makes it once and throws what `make` throws.
class WholeFile : public ByteFile {
 public:
  WholeFile(const std::string& name, std::shared_ptr<ByteCache> cache,
            std::function<std::string()> make)
      : ByteFile(name), cache_(std::move(cache)), make_(std::move(make)) {
    size_ = static_cast<int64_t>(content()->size());
  }
  int64_t size() const override { return size_; }
  void read(int64_t offset, void* to, size_t num_bytes) const override {
    const ByteCache::Bytes bytes = content_again();
    if (static_cast<int64_t>(bytes->size()) != size_) {
      throw files_errors::unreadable_file(
          name(), "it had " + std::to_string(size_) + " bytes and has " +
                      std::to_string(bytes->size()) + " when it is read again");
    }
    S2S_ASSERT(offset >= 0 && static_cast<size_t>(offset) + num_bytes <= bytes->size(),
               "the caller knows the size");
    std::memcpy(to, bytes->data() + offset, num_bytes);
  }

 private:
  ByteCache::Bytes content() const { return cache_->get(name(), make_); }
  ByteCache::Bytes content_again() const {
    try {
      return content();
    } catch (const TooMuchContent&) {
      throw files_errors::unreadable_file(name(), "it is larger when it is read again");
    }
  }

  std::shared_ptr<ByteCache> cache_;
  std::function<std::string()> make_;
  int64_t size_ = 0;
};

std::string first_bytes(const DiskFile& file) {
  return file.read_text(0, static_cast<size_t>(std::min<int64_t>(file.size(), 2)));
}

}  // namespace

std::shared_ptr<const ByteFile> open_bytes(const std::string& source, const OpenOptions& options,
                                           const std::string& expected, bool with_lines) {
  const auto cache = options.cache ? options.cache : std::make_shared<ByteCache>();
  if (const auto command = pipe_command(source)) {
    return std::make_shared<WholeFile>(source, cache, [=, on_damage = options.on_damage] {
      return decompressed(source, read_command(*command), with_lines, on_damage);
    });
  }
  if (is_url(source)) throw files_errors::url(source);
  auto file = std::make_unique<DiskFile>(source, expected);
  if (!is_gzip(first_bytes(*file))) return file;
  if (file->size() <= kWholeFileBytes) {
    const InflateOptions how = {with_lines, options.on_damage, kWholeContentBytes};
    try {
      return std::make_shared<WholeFile>(
          source, cache, [=] { return inflate_whole(DiskFile(source, expected), how); });
    } catch (const TooMuchContent&) {  // read through an index instead
    }
  }
  OpenOptions with_cache = options;
  with_cache.cache = cache;
  return std::make_shared<GzipFile>(std::move(file), with_lines, with_cache);
}

std::string read_all_bytes(const std::string& source, const std::string& expected) {
  if (const auto command = pipe_command(source)) {
    return decompressed(source, read_command(*command));
  }
  if (is_url(source)) throw files_errors::url(source);
  const DiskFile file(source, expected);
  return decompressed(source, file.read_text(0, static_cast<size_t>(file.size())));
}

}  // namespace s2s::files
