// Reading checkpoints. Nothing is copied before all of it is known to fit.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "config/load_config.h"
#include "train/checkpoint.h"
#include "train/train_errors.h"
#include "weights/finite.h"
#include "weights/safetensors.h"
#include "weights/shape_text.h"
#include "weights/stored_tensors.h"

namespace s2s {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

SafetensorsFile open_part(const std::string& checkpoint, const std::string& file) {
  require_in_checkpoint(checkpoint, file);
  return SafetensorsFile::open((fs::path(checkpoint) / file).string());
}

/// How a stored tensor differs from the model's; "" when it fits.
std::string difference(const NamedTensor& ours, const SafetensorsFile& file) {
  const auto stored = file.entries().find(ours.name);
  if (stored == file.entries().end()) return "missing in the checkpoint: " + ours.name;
  if (!ours.tensor->defined() || ours.tensor->sizes() == at::IntArrayRef(stored->second.sizes)) {
    return {};
  }
  return fmt::format("another size: {} is {} there and {} here", ours.name,
                     shape_text(stored->second.sizes), shape_text(ours.tensor->sizes()));
}

void check_same_model(const std::string& checkpoint, const std::vector<NamedTensor>& ours,
                      const SafetensorsFile& file) {
  std::vector<std::string> differences, known;
  for (const NamedTensor& tensor : ours) {
    known.push_back(tensor.name);
    const std::string problem = difference(tensor, file);
    if (!problem.empty()) differences.push_back(problem);
  }
  std::sort(known.begin(), known.end());
  for (const auto& [name, entry] : file.entries()) {
    if (!std::binary_search(known.begin(), known.end(), name)) {
      differences.push_back("not in this model: " + name);
    }
  }
  if (!differences.empty()) throw_other_model(checkpoint, differences);
}

void check_numbers(const std::string& path, const SafetensorsFile& file) {
  for (const auto& [name, entry] : file.entries()) {
    check_finite(path, name, file.tensor(name));
    file.release(name);  // one tensor at a time in memory
  }
}

}  // namespace

void require_in_checkpoint(const std::string& checkpoint, const std::string& file) {
  if (!fs::is_directory(checkpoint)) throw_no_checkpoint(checkpoint, "no such folder");
  if (!fs::exists(fs::path(checkpoint) / file)) throw_incomplete_checkpoint(checkpoint, file);
}

void check_same_parts(const std::string& checkpoint, const Config& config) {
  const fs::path file = fs::path(checkpoint) / "config.yaml";
  if (!fs::exists(file)) return;
  const Config stored = load_config(file.string());
  std::vector<std::string> differences;
  for (const char* path :
       {"model.type", "model.llm.name", "model.encoder.name", "model.codec.name"}) {
    const Config* there = stored.find_path(path);
    const Config* here = config.find_path(path);
    if (there == nullptr || here == nullptr || there->text() == here->text()) continue;
    differences.push_back(
        fmt::format("{} is {} there and {} here", path, there->text(), here->text()));
  }
  if (!differences.empty()) throw_other_model(checkpoint, differences);
}

void load_model(const std::string& checkpoint, Block& model) {
  const at::NoGradGuard no_grad;
  const SafetensorsFile file = open_part(checkpoint, "model.safetensors");
  const std::vector<NamedTensor> ours = stored_tensors(model);
  check_same_model(checkpoint, ours, file);
  check_numbers(checkpoint + "/model.safetensors", file);
  for (const NamedTensor& tensor : ours) {
    const at::Tensor stored = file.tensor(tensor.name);
    if (tensor.tensor->defined()) {
      tensor.tensor->detach().copy_(stored);
    } else {
      *tensor.tensor = stored.clone();
    }
    file.release(tensor.name);
  }
}

namespace {

json read_state_file(const std::string& checkpoint) {
  std::ifstream in(fs::path(checkpoint) / "state.json");
  json content = json::parse(in, nullptr, /*allow_exceptions=*/false);
  if (!content.is_object()) throw_incomplete_checkpoint(checkpoint, "state.json");
  return content;
}

RunState read_state(const std::string& checkpoint) {
  const json content = read_state_file(checkpoint);
  try {
    return {content.at("steps_done").get<int64_t>(), content.at("data_state").get<std::string>(),
            content.value("trainer_state", "")};
  } catch (const json::exception&) {
    throw_incomplete_checkpoint(checkpoint, "state.json");
  }
}

}  // namespace

bool is_weights_only(const std::string& checkpoint) {
  const json content = read_state_file(checkpoint);
  const auto mark = content.find("weights_only");
  return mark != content.end() && mark->is_boolean() && mark->get<bool>();
}

int64_t steps_of_checkpoint(const std::string& checkpoint) {
  return read_state(checkpoint).steps_done;
}

RunState load_run_state(const std::string& checkpoint, Optimizer& optimizer) {
  const RunState state = read_state(checkpoint);
  const SafetensorsFile moments = open_part(checkpoint, "optimizer.safetensors");
  const at::Tensor random = open_part(checkpoint, "random.safetensors").tensor("cpu").clone();
  check_numbers(checkpoint + "/optimizer.safetensors", moments);
  optimizer.restore(moments.tensors());
  at::Generator generator = at::globalContext().defaultGenerator(at::kCPU);
  generator.set_state(random);
  return state;
}

}  // namespace s2s
