#pragma once
// Compiled kernels in the user's cache folder, by a hash of all that they depend on.

#include <optional>
#include <string>

namespace s2s::cuda {

class CubinCache {
 public:
  /// If `folder` is "", nothing is kept.
  explicit CubinCache(std::string folder) : folder_(std::move(folder)) {}

  /// Returns nothing if there is no file for `key` or it is damaged.
  std::optional<std::string> find(const std::string& key) const;
  /// Writes the file if that is possible. A full disk or a read-only home is no error: the next
  /// start compiles again.
  void keep(const std::string& key, const std::string& cubin) const;
  /// Returns the path of the file of `key`.
  std::string path(const std::string& key) const;

 private:
  std::string folder_;
};

/// Returns $XDG_CACHE_HOME/s2s/kernels or ~/.cache/s2s/kernels; "" when neither variable is set.
std::string kernel_cache_folder();

}  // namespace s2s::cuda
