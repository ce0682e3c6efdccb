#include "train/checkpoint.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fcntl.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "train/train_errors.h"
#include "weights/safetensors.h"

namespace s2s {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kFormat = 1;

/// The number N of a folder name step=N, or -1.
int64_t step_of(const std::string& name) {
  int64_t step = -1;
  if (!name.starts_with("step=")) return -1;
  const char* begin = name.data() + 5;
  const char* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(begin, end, step);
  return error == std::errc() && stop == end ? step : -1;
}

/// Complete checkpoints, oldest first.
std::vector<std::pair<int64_t, fs::path>> list(const std::string& folder) {
  std::vector<std::pair<int64_t, fs::path>> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const int64_t step = step_of(entry.path().filename().string());
    if (step >= 0) found.emplace_back(step, entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

void sync_path(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

TensorMap model_tensors(Block& model) {
  TensorMap tensors;
  for (const NamedTensor& p : model.named_parameters()) tensors[p.name] = p.tensor->detach();
  for (const NamedTensor& b : model.named_buffers()) {
    if (b.persistent && b.tensor->defined()) tensors[b.name] = b.tensor->detach();
  }
  return tensors;
}

void write_state(const fs::path& path, const RunState& state) {
  const json content = {
      {"format", kFormat}, {"steps_done", state.steps_done}, {"data_state", state.data_state}};
  std::ofstream out(path);
  out << content.dump(1) << '\n';
  out.flush();
  if (!out) throw fs::filesystem_error("write", path, std::make_error_code(std::errc::io_error));
  out.close();
  sync_path(path);
}

/// Points `last` at a checkpoint in one step.
void point_last(const fs::path& folder, const fs::path& target) {
  const fs::path link = folder / "last";
  const fs::path fresh = folder / ".last.new";
  fs::remove(fresh);
  fs::create_symlink(target.filename(), fresh);
  fs::rename(fresh, link);
  sync_path(folder);
}

}  // namespace

CheckpointFolder::CheckpointFolder(std::string folder, std::vector<std::string> attachments)
    : folder_(std::move(folder)), attachments_(std::move(attachments)) {}

std::string CheckpointFolder::save(Block& model, const Optimizer& optimizer,
                                   const RunState& state) const {
  const fs::path target = fs::path(folder_) / fmt::format("step={}", state.steps_done);
  const fs::path partial = fs::path(folder_) / fmt::format(".step={}.partial", state.steps_done);
  try {
    fs::create_directories(folder_);
    fs::remove_all(partial);
    fs::create_directory(partial);
    write_safetensors(partial / "model.safetensors", model_tensors(model));
    write_safetensors(partial / "optimizer.safetensors", optimizer.state());
    const at::Tensor random = at::globalContext().defaultGenerator(at::kCPU).get_state();
    write_safetensors(partial / "random.safetensors", {{"cpu", random}});
    for (const std::string& file : attachments_) {
      if (fs::exists(file)) fs::copy_file(file, partial / fs::path(file).filename());
    }
    write_state(partial / "state.json", state);
    sync_path(partial);
    fs::remove_all(target);  // the same step again, after a resume from an older one
    fs::rename(partial, target);
    point_last(folder_, target);
  } catch (const std::exception& error) {
    std::error_code ignored;
    fs::remove_all(partial, ignored);
    throw_checkpoint_write(target.string(), error.what());
  }
  return target.string();
}

std::string CheckpointFolder::newest() const {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder_, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(".step=") && name.ends_with(".partial")) fs::remove_all(entry.path());
  }
  const auto complete = list(folder_);
  return complete.empty() ? "" : complete.back().second.string();
}

void CheckpointFolder::rotate(int64_t keep_last, const std::vector<std::string>& keep) const {
  auto complete = list(folder_);
  const auto count = static_cast<int64_t>(complete.size());
  for (int64_t i = 0; i < count - std::max<int64_t>(1, keep_last); ++i) {
    const std::string path = complete[static_cast<size_t>(i)].second.string();
    if (std::find(keep.begin(), keep.end(), path) == keep.end()) fs::remove_all(path);
  }
}

namespace {

SafetensorsFile open_part(const std::string& checkpoint, const std::string& file) {
  const fs::path path = fs::path(checkpoint) / file;
  if (!fs::is_directory(checkpoint)) throw_no_checkpoint(checkpoint, "no such folder");
  if (!fs::exists(path)) throw_incomplete_checkpoint(checkpoint, file);
  return SafetensorsFile::open(path.string());
}

std::string sizes_text(at::IntArrayRef sizes) {
  return fmt::format("[{}]", fmt::join(sizes.begin(), sizes.end(), ", "));
}

/// Copies one stored tensor; says what is wrong, or nothing.
std::string copy_into(at::Tensor& to, const std::string& name, const SafetensorsFile& file) {
  if (!file.contains(name)) return "missing in the checkpoint: " + name;
  const at::Tensor stored = file.tensor(name);
  if (to.defined() && stored.sizes() != to.sizes()) {
    return fmt::format("another size: {} is {} there and {} here", name, sizes_text(stored.sizes()),
                       sizes_text(to.sizes()));
  }
  if (!to.defined()) {
    to = stored.clone();
  } else {
    to.detach().copy_(stored);
  }
  return {};
}

}  // namespace

void load_model(const std::string& checkpoint, Block& model) {
  const at::NoGradGuard no_grad;
  const SafetensorsFile file = open_part(checkpoint, "model.safetensors");
  std::vector<std::string> differences;
  std::vector<std::string> known;
  const auto load = [&](const NamedTensor& entry) {
    known.push_back(entry.name);
    const std::string problem = copy_into(*entry.tensor, entry.name, file);
    if (!problem.empty()) differences.push_back(problem);
  };
  for (const NamedTensor& parameter : model.named_parameters()) load(parameter);
  for (const NamedTensor& buffer : model.named_buffers()) {
    if (buffer.persistent) load(buffer);
  }
  std::sort(known.begin(), known.end());
  for (const auto& [name, entry] : file.entries()) {
    if (!std::binary_search(known.begin(), known.end(), name)) {
      differences.push_back("not in this model: " + name);
    }
  }
  if (!differences.empty()) throw_other_model(checkpoint, differences);
}

namespace {

RunState read_state(const std::string& checkpoint) {
  std::ifstream in(fs::path(checkpoint) / "state.json");
  const json content = json::parse(in, nullptr, /*allow_exceptions=*/false);
  if (content.is_discarded() || !content.contains("steps_done")) {
    throw_incomplete_checkpoint(checkpoint, "state.json");
  }
  return {content.at("steps_done").get<int64_t>(), content.value("data_state", std::string())};
}

}  // namespace

int64_t steps_of_checkpoint(const std::string& checkpoint) {
  return read_state(checkpoint).steps_done;
}

RunState load_run_state(const std::string& checkpoint, Optimizer& optimizer) {
  optimizer.restore(open_part(checkpoint, "optimizer.safetensors").tensors());
  const at::Tensor random = open_part(checkpoint, "random.safetensors").tensor("cpu").clone();
  at::Generator generator = at::globalContext().defaultGenerator(at::kCPU);
  generator.set_state(random);
  return read_state(checkpoint);
}

}  // namespace s2s
