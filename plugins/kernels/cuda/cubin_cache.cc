#include "cubin_cache.h"

#include <c10/util/hash.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>

#include "s2s/foreign_text.h"

namespace s2s::cuda {

namespace fs = std::filesystem;

namespace {

constexpr size_t kDigits = 40;  // of a SHA-1

std::string digest_of(const std::string& text) { return c10::sha1(text).str(); }

}  // namespace

std::string CubinCache::path(const std::string& key) const {
  return folder_ + "/" + digest_of(key) + ".cubin";
}

std::optional<std::string> CubinCache::find(const std::string& key) const {
  if (folder_.empty()) return std::nullopt;
  try {
    const std::string content = read_small_file(path(key));
    if (content.size() <= kDigits) return std::nullopt;
    std::string cubin = content.substr(kDigits);
    if (content.compare(0, kDigits, digest_of(cubin)) != 0) return std::nullopt;
    return cubin;
  } catch (const std::exception&) {
    return std::nullopt;  // most often: it is not there yet
  }
}

void CubinCache::keep(const std::string& key, const std::string& cubin) const {
  if (folder_.empty()) return;
  std::error_code error;
  fs::create_directories(folder_, error);
  // Ranks of one machine may write the same file: each its own, and the last name wins.
  const std::string target = path(key);
  const std::string part = target + "." + std::to_string(::getpid());
  std::ofstream out(part, std::ios::binary);
  out << digest_of(cubin) << cubin;
  out.close();
  if (out) fs::rename(part, target, error);
  if (!out || error) fs::remove(part, error);
}

std::string kernel_cache_folder() {
  if (const char* const cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/') {
    return std::string(cache) + "/s2s/kernels";
  }
  const char* const home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? std::string(home) + "/.cache/s2s/kernels" : "";
}

}  // namespace s2s::cuda
