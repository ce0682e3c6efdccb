#include "weights/checkpoint_proof.h"

#include <fmt/format.h>

#include <filesystem>
#include <stdexcept>
#include <system_error>

#include "base/foreign_json.h"
#include "base/io_errors.h"
#include "s2s/error.h"
#include "weights/checkpoint_files.h"
#include "weights/safetensors.h"

namespace s2s {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kState = "state.json";

std::vector<std::string> groups_of(bool is_weights_only) {
  if (is_weights_only) return {"model"};
  return {"model", "optimizer"};
}

/// What the header of a file must contain for a tensor.
struct Expected {
  const std::string* name;
  at::ScalarType dtype;
  int64_t elements;
};

std::map<std::string, std::vector<Expected>> expected_by_file(const CheckpointIndex& index) {
  std::map<std::string, std::vector<Expected>> expected;
  for (const auto& [group, tensors] : index.groups) {
    for (const auto& [name, tensor] : tensors) {
      for (const StoredShard& shard : tensor.shards) {
        expected[shard.file].push_back({&name, tensor.dtype, count_elements(shard.runs)});
      }
    }
  }
  return expected;
}

std::string fault_of_file(const SafetensorsFile& file, const std::vector<Expected>& expected) {
  const std::string& path = file.path();
  for (const Expected& tensor : expected) {
    const auto found = file.entries().find(*tensor.name);
    if (found == file.entries().end()) return fmt::format("{} lacks {}", path, *tensor.name);
    const SafetensorsEntry& entry = found->second;
    if (entry.dtype != tensor.dtype || count_elements(entry.sizes) != tensor.elements) {
      return fmt::format("{} has another {} than the index says", path, *tensor.name);
    }
  }
  return "";
}

std::string tiling_fault_of(const CheckpointIndex& index) {
  for (const auto& [group, tensors] : index.groups) {
    for (const auto& [name, tensor] : tensors) {
      const std::string fault = tiling_fault(tensor);
      if (!fault.empty()) return fmt::format("tensor '{}': {}", name, fault);
    }
  }
  return "";
}

std::string fault_of_indexed(const CheckedFiles& files, bool is_weights_only, ProofDepth depth) {
  const CheckpointIndex& index = *files.index();
  const std::vector<std::string> faults = index_faults(index, is_weights_only);
  if (!faults.empty()) return files.path(CheckpointIndex::kFile) + ": " + faults.front();
  for (const auto& [name, sums] : index.files) files.require(name);
  if (depth == ProofDepth::kLengths) return "";
  const std::string fault = tiling_fault_of(index);
  if (!fault.empty()) return files.path(CheckpointIndex::kFile) + ": " + fault;
  return header_fault(files.folder(), index);
}

/// For a checkpoint of an older version, without an index.
std::string fault_of_plain(const std::string& checkpoint, bool is_weights_only) {
  std::vector<std::string> names = groups_of(is_weights_only);
  if (!is_weights_only) names.emplace_back("random");
  for (const std::string& name : names) {
    const std::string path = (fs::path(checkpoint) / (name + ".safetensors")).string();
    const SafetensorsFile file = SafetensorsFile::open(path);
    if (name == "model" && file.entries().empty()) return path + " has no tensors";
  }
  return "";
}

}  // namespace

json try_read_state(const std::string& checkpoint) {
  const std::string path = (fs::path(checkpoint) / kState).string();
  try {
    // More than a configuration: the data source's state is one long text in it.
    json state = try_parse_foreign_json(read_small_file(path, kSmallFileBytes));
    if (state.is_object()) return state;
  } catch (const std::system_error& error) {
    if (!says_no_file(error.code().value())) throw read_error(path, error.code().value());
  }
  return json(json::value_t::discarded);
}

bool says_weights_only(const json& state) {
  if (!state.is_object()) return false;
  const auto mark = state.find("weights_only");
  return mark != state.end() && mark->is_boolean() && mark->get<bool>();
}

std::vector<std::string> index_faults(const CheckpointIndex& index, bool is_weights_only) {
  std::vector<std::string> faults;
  for (const std::string& group : groups_of(is_weights_only)) {
    if (index.groups.count(group) == 0) faults.push_back("it has no group '" + group + "'");
  }
  const auto model = index.groups.find("model");
  if (model != index.groups.end() && model->second.empty()) {
    faults.emplace_back("its group 'model' has no tensors");
  }
  if (index.files.count(kState) == 0) faults.push_back(fmt::format("it does not list {}", kState));
  if (static_cast<uint64_t>(index.num_ranks) > index.files.size()) {
    faults.push_back(
        fmt::format("it has {} ranks and lists {} files", index.num_ranks, index.files.size()));
    return faults;
  }
  std::vector<std::string> groups = groups_of(is_weights_only);
  if (!is_weights_only) groups.emplace_back("random");
  for (const std::string& group : groups) {
    for (int64_t rank = 0; rank < index.num_ranks; ++rank) {
      const std::string file = rank_file_name(group, rank, index.num_ranks);
      if (index.files.count(file) == 0) faults.push_back("it does not list " + file);
    }
  }
  return faults;
}

std::vector<std::string> unlisted_tensors(const SafetensorsFile& tensors, const std::string& file,
                                          const CheckpointIndex& index) {
  std::vector<std::string> unlisted;
  for (const auto& [group, listed] : index.groups) {
    if (file != group + ".safetensors" && !file.starts_with(group + "-")) continue;
    for (const auto& [name, entry] : tensors.entries()) {
      if (listed.count(name) == 0) unlisted.push_back(name);
    }
  }
  return unlisted;
}

std::string header_fault(const std::string& folder, const CheckpointIndex& index) {
  const std::map<std::string, std::vector<Expected>> expected = expected_by_file(index);
  for (const auto& [name, sums] : index.files) {
    if (!name.ends_with(".safetensors")) continue;
    const auto of_file = expected.find(name);
    const auto file = SafetensorsFile::open((fs::path(folder) / name).string());
    const std::string fault =
        fault_of_file(file, of_file == expected.end() ? std::vector<Expected>{} : of_file->second);
    if (!fault.empty()) return fault;
    const std::vector<std::string> unlisted = unlisted_tensors(file, name, index);
    if (!unlisted.empty()) {
      return fmt::format("{} has {}, which the index does not list", file.path(), unlisted.front());
    }
  }
  return "";
}

std::string checkpoint_fault(const std::string& checkpoint, ProofDepth depth) {
  try {
    const json state = try_read_state(checkpoint);
    const auto steps = state.is_object() ? state.find("steps_done") : state.end();
    if (steps == state.end() || !steps->is_number_integer()) {
      return fmt::format("{} is missing or does not say how many steps are done",
                         (fs::path(checkpoint) / kState).string());
    }
    const std::shared_ptr<CheckedFiles> files = CheckedFiles::open(checkpoint);
    const bool is_weights_only = says_weights_only(state);
    if (files->index() == nullptr) return fault_of_plain(checkpoint, is_weights_only);
    return fault_of_indexed(*files, is_weights_only, depth);
  } catch (const fs::filesystem_error& error) {
    throw read_error(checkpoint, error.code().value());
  } catch (const Error& error) {
    if (error.id() == "io/read") throw;
    const std::string message = error.message();
    return message.substr(0, message.find('\n'));
  }
}

}  // namespace s2s
