#pragma once
// Compiled kernels in the user's cache folder, by a hash of all that they depend on.

#include <optional>
#include <string>

namespace s2s::cuda {

class CubinCache {
 public:
  /// folder: "" keeps nothing.
  explicit CubinCache(std::string folder) : folder_(std::move(folder)) {}

  /// Nothing when there is none, or its file is damaged.
  std::optional<std::string> find(const std::string& key) const;
  /// Keeps it where that is possible: a full disk or a read-only home cost a compilation at the
  /// next start, and no error.
  void keep(const std::string& key, const std::string& cubin) const;
  /// Of the file of a key.
  std::string path(const std::string& key) const;

 private:
  std::string folder_;
};

/// s2s/kernels in XDG_CACHE_HOME, or in .cache of the home folder; "" without either.
std::string kernel_cache_folder();

}  // namespace s2s::cuda
