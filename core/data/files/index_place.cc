#include "files/index_place.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/atomic_file.h"
#include "base/fnv.h"
#include "base/mapped_file.h"
#include "files/source_state.h"
#include "s2s/error.h"

namespace s2s::files {
namespace {

namespace fs = std::filesystem;

class MappedIndex : public IndexBytes {
 public:
  explicit MappedIndex(const std::string& path) : file_(path) {}
  std::string_view bytes() const override {
    return {reinterpret_cast<const char*>(file_.bytes().data()), file_.bytes().size()};
  }

 private:
  MappedFile file_;
};

class IndexInMemory : public IndexBytes {
 public:
  std::string text;
  std::string_view bytes() const override { return text; }
};

std::string absolute_path(const std::string& path) {
  std::error_code failed;
  const fs::path whole = fs::weakly_canonical(path, failed);
  return failed ? path : whole.string();
}

}  // namespace

std::string index_cache_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/') {
    return std::string(cache) + "/s2s/index";
  }
  const char* home = std::getenv("HOME");
  return home != nullptr && *home != '\0' ? std::string(home) + "/.cache/s2s/index" : "";
}

std::vector<std::string> index_paths(const DiskFile& file, const std::string& suffix) {
  std::vector<std::string> paths = {file.name() + suffix};
  const std::string folder = index_cache_folder();
  if (folder.empty()) return paths;
  const std::string key = fmt::format("{}|{:x}", absolute_path(file.name()), file.stamp());
  paths.push_back(fmt::format("{}/{:016x}-{}{}", folder, fnv1a(key),
                              fs::path(file.name()).filename().string(), suffix));
  return paths;
}

bool is_outdated(const std::string& path, const DiskFile& file) {
  if (!path.starts_with(file.name())) return false;  // the stamp is part of such a name
  struct stat status {};
  return stat(path.c_str(), &status) != 0 || changed_ns(status) < file.changed_ns();
}

std::shared_ptr<const IndexBytes> map_index(const std::string& path) {
  try {
    return std::make_shared<MappedIndex>(path);
  } catch (const std::system_error&) {
    return nullptr;
  }
}

std::shared_ptr<const IndexBytes> write_index(const DiskFile& file, const std::string& suffix,
                                              OpenOptions::Place place, const IndexWriter& write) {
  std::vector<std::string> paths = index_paths(file, suffix);
  if (place == OpenOptions::Place::kMemory) paths.clear();
  if (place == OpenOptions::Place::kCacheFolder) paths.erase(paths.begin());
  for (const std::string& path : paths) {
    try {
      if (path != file.name() + suffix) {
        std::error_code ignored;  // opening the file reports it
        fs::create_directories(index_cache_folder(), ignored);
      }
      remove_partial_files(fs::path(path).parent_path().string());
      AtomicFile index(path);
      write([&](std::string_view bytes) { index.write(bytes); });
      if (stamp_of_file(file.name()) != file.stamp()) continue;
      index.commit();
    } catch (const Error& error) {
      if (error.id() != "io/write") throw;
      continue;
    }
    if (auto mapped = map_index(path)) return mapped;
  }
  auto memory = std::make_shared<IndexInMemory>();
  write([&](std::string_view bytes) { memory->text.append(bytes); });
  return memory;
}

}  // namespace s2s::files
