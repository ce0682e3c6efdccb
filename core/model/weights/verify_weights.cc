#include "weights/verify_weights.h"

#include <ATen/core/Tensor.h>
#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "s2s/error.h"
#include "s2s/nn/weights.h"
#include "weights/finite.h"
#include "weights/weight_folder.h"

namespace s2s {
namespace {

namespace fs = std::filesystem;

class WeightVerifier {
 public:
  /// Reads one file. Its tensors are those of no other.
  void read(const std::string& path) {
    verdict_.attempt([&] {
      const WeightFiles file = WeightFiles::open(path);
      ++verdict_.num_files;
      for (const auto& [name, facts] : file.facts()) {
        const auto [place, is_new] = home_.emplace(name, path);
        if (!is_new) {
          find(fmt::format("tensor '{}' is in '{}' and in '{}'", name, place->second, path));
        }
        verdict_.attempt([&] { read_tensor(file, name); });
      }
    });
  }

  void compare(const WeightIndex& index) {
    for (const auto& [name, file] : index.home) {
      if (!fs::exists(file)) continue;  // said once for the file
      const auto found = home_.find(name);
      if (found == home_.end() || found->second != file) {
        find(fmt::format("the index '{}' says that tensor '{}' is in '{}', which lacks it",
                         index.path, name, file));
      }
    }
    for (const auto& [name, file] : home_) {
      if (index.home.count(name) != 0) continue;
      find(fmt::format("'{}' has tensor '{}', which the index '{}' does not name", file, name,
                       index.path));
    }
    const bool is_complete = verdict_.findings.empty();
    if (is_complete && index.total_bytes && *index.total_bytes != verdict_.num_bytes) {
      find(fmt::format("the index '{}' says that the tensors have {} bytes, they have {}",
                       index.path, *index.total_bytes, verdict_.num_bytes));
    }
  }

  void find(std::string what) { verdict_.findings.push_back(std::move(what)); }
  WeightsVerdict take() { return std::move(verdict_); }

 private:
  void read_tensor(const WeightFiles& file, const std::string& name) {
    const at::Tensor tensor = file.tensor(name);
    ++verdict_.num_tensors;
    verdict_.num_bytes += static_cast<uint64_t>(tensor.numel()) * tensor.element_size();
    check_finite(file.path(), name, tensor);
    file.release(name);
  }

  WeightsVerdict verdict_;
  std::map<std::string, std::string> home_;
};

}  // namespace

WeightsVerdict verify_weights(const std::string& path) {
  WeightVerifier verifier;
  WeightFolder folder;
  try {
    folder = find_weights(path);
  } catch (const Error& error) {
    if (!fs::exists(path)) throw;
    verifier.find(error.what());
    return verifier.take();
  }
  if (folder.index) {
    for (const auto& [file, num_tensors] : folder.index->files()) {
      if (fs::exists(file)) {
        verifier.read(file);
      } else {
        verifier.find(fmt::format("'{}' is not there; the index expects {} tensors in it", file,
                                  num_tensors));
      }
    }
    verifier.compare(*folder.index);
  }
  for (const std::string& file : folder.files) verifier.read(file);
  return verifier.take();
}

}  // namespace s2s
