#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <variant>

#include "s2s/nn/weights.h"
#include "weights/checkpoint_files.h"
#include "weights/distributed_folder.h"
#include "weights/safetensors.h"
#include "weights/torch_file.h"
#include "weights/weight_folder.h"
#include "weights/weight_mapping.h"
#include "weights/weights_errors.h"

namespace s2s {
namespace {

using OneFile = std::variant<SafetensorsFile, TorchFile, ShardFiles, DistributedFolder>;

std::map<std::string, TensorFacts> spec_of(const OneFile& file) {
  std::map<std::string, TensorFacts> facts;
  std::visit(
      [&](const auto& opened) {
        for (const auto& [name, entry] : opened.entries()) facts[name] = {entry.dtype, entry.sizes};
      },
      file);
  return facts;
}

OneFile open_weights(const std::string& path, ReadingBudget budget) {
  budget.keep_time();
  const std::filesystem::path file = path;
  if (file.filename() == CheckpointIndex::kFile) {
    return ShardFiles::open(file.parent_path().string(), "model");
  }
  if (file.filename() == DistributedFolder::kMetadata) {
    return DistributedFolder::open(file.parent_path().string(), budget);
  }
  if (is_torch_file(path)) return TorchFile::open(path, budget);
  return SafetensorsFile::open(path);
}

}  // namespace

struct WeightFiles::Content {
  explicit Content(const std::string& place) : path(place), budget(place) {}

  std::string path;
  ReadingBudget budget;  // of all files together, while they are opened
  std::map<std::string, OneFile> files;
  std::map<std::string, const OneFile*> home;
  std::map<std::string, TensorFacts> facts;

  const OneFile& file_of(const std::string& name) const {
    const auto it = home.find(name);
    if (it != home.end()) return *it->second;
    throw weights_errors::no_tensor(path, name, facts);
  }

  const OneFile& open(const std::string& file) {
    const auto it = files.find(file);
    if (it != files.end()) return it->second;
    const ReadingBudget of_file = budget.of_file(file);
    return files.emplace(file, open_weights(file, of_file)).first->second;
  }

  void add(const std::string& name, const TensorFacts& known, const OneFile& file,
           const std::string& file_path) {
    if (!home.emplace(name, &file).second) {
      const auto first = std::find_if(files.begin(), files.end(), [&](const auto& entry) {
        return &entry.second == home.at(name);
      });
      throw weights_errors::duplicate(name, first->first, file_path);
    }
    facts[name] = known;
  }

  void add_all(const std::string& file_path) {
    const OneFile& file = open(file_path);
    for (const auto& [name, known] : spec_of(file)) add(name, known, file, file_path);
  }

  void add_indexed(const WeightIndex& index);
};

void WeightFiles::Content::add_indexed(const WeightIndex& index) {
  std::vector<std::string> findings;
  std::map<std::string, std::map<std::string, TensorFacts>> in_file;
  for (const auto& [file, num_tensors] : index.files()) {
    if (std::filesystem::exists(file)) {
      in_file[file] = spec_of(open(file));
    } else {
      findings.push_back(fmt::format("'{}' is missing ({} tensors)", file, num_tensors));
    }
  }
  for (const auto& [name, file] : index.home) {
    const auto known = in_file.find(file);
    if (known == in_file.end()) continue;
    const auto it = known->second.find(name);
    if (it == known->second.end()) {
      findings.push_back(fmt::format("'{}' has no tensor '{}'", file, name));
    } else {
      add(name, it->second, open(file), file);
    }
  }
  if (!findings.empty()) throw weights_errors::index(index.path, findings);
}

WeightFiles::WeightFiles(std::unique_ptr<Content> content) : content_(std::move(content)) {}
WeightFiles::WeightFiles(WeightFiles&&) noexcept = default;
WeightFiles& WeightFiles::operator=(WeightFiles&&) noexcept = default;
WeightFiles::~WeightFiles() = default;

WeightFiles WeightFiles::open(const std::string& path) {
  auto content = std::make_unique<Content>(path);
  const WeightFolder folder = find_weights(path);
  if (folder.index) {
    content->add_indexed(*folder.index);
  } else {
    for (const std::string& file : folder.files) content->add_all(file);
  }
  return WeightFiles(std::move(content));
}

const std::string& WeightFiles::path() const { return content_->path; }

const std::map<std::string, TensorFacts>& WeightFiles::facts() const { return content_->facts; }

std::optional<StoredBytes> stored_bytes(const WeightFiles& files, const std::string& name) {
  return std::visit([&](const auto& file) { return file.stored_bytes(name); },
                    files.content_->file_of(name));
}

at::Tensor WeightFiles::tensor(const std::string& name) const {
  return std::visit([&](const auto& file) { return file.tensor(name); }, content_->file_of(name));
}

at::Tensor WeightFiles::view(const std::string& name, const TensorSlice& slice) const {
  const at::Tensor whole = tensor(name);
  const bool has_dim = slice.dim >= 0 && slice.dim < whole.dim();
  if (!has_dim || slice.begin < 0 || slice.length < 0 ||
      slice.length > whole.size(slice.dim) - slice.begin) {
    throw weights_errors::slice(content_->path, name, whole.sizes().vec(), slice);
  }
  return whole.narrow(slice.dim, slice.begin, slice.length);
}

at::Tensor WeightFiles::read(const std::string& name, const TensorSlice& slice) const {
  at::Tensor copy = view(name, slice).clone(at::MemoryFormat::Contiguous);
  release(name);
  return copy;
}

void WeightFiles::release(const std::string& name) const {
  std::visit([&](const auto& file) { file.release(name); }, content_->file_of(name));
}

TensorMap read_weights(const std::string& path) {
  const WeightFiles files = WeightFiles::open(path);
  TensorMap tensors;
  for (const auto& entry : files.facts()) tensors[entry.first] = files.tensor(entry.first);
  return tensors;
}

}  // namespace s2s
