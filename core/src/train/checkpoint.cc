#include "train/checkpoint.h"

#include <ATen/ATen.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "train/train_errors.h"
#include "weights/finite.h"
#include "weights/safetensors.h"
#include "weights/stored_tensors.h"

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

/// Waits until a file or folder is on the disk.
void sync_path(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

TensorMap model_tensors(Block& model) {
  TensorMap tensors;
  for (const NamedTensor& stored : stored_tensors(model)) {
    if (stored.tensor->defined()) tensors[stored.name] = stored.tensor->detach();
  }
  return tensors;
}

void write_state(const fs::path& path, const RunState& state, bool weights_only) {
  json content = {
      {"format", kFormat}, {"steps_done", state.steps_done}, {"data_state", state.data_state}};
  if (!state.trainer_state.empty()) content["trainer_state"] = state.trainer_state;
  if (weights_only) content["weights_only"] = true;
  std::ofstream out(path);
  out << content.dump(1) << '\n';
  out.flush();
  if (!out) throw fs::filesystem_error("write", path, std::make_error_code(std::errc::io_error));
  out.close();
  sync_path(path);
}

/// A checkpoint that cannot be continued from would push out one that can.
void check_tensors(const TensorMap& tensors, int64_t steps_done) {
  for (const auto& [name, tensor] : tensors) {
    const std::optional<NotFinite> bad = find_not_finite(tensor);
    if (bad) throw_weight_not_finite(name, bad->index, bad->value, steps_done);
  }
}

/// Copies a file, or a folder of files, that is there.
void attach(const fs::path& from, const fs::path& folder) {
  if (!fs::exists(from)) return;
  const fs::path copy = folder / from.filename();
  if (fs::is_directory(from)) {
    fs::create_directory(copy);
    for (const auto& entry : fs::directory_iterator(from)) attach(entry.path(), copy);
  } else {
    fs::copy_file(from, copy);
  }
  sync_path(copy);
}

/// Gives a finished folder its name. What has the name already (the same step again, after a
/// resume from an older one) comes away in the same moment.
void give_name(const fs::path& finished, const fs::path& name) {
  if (!fs::exists(name)) return fs::rename(finished, name);
  if (renameat2(AT_FDCWD, finished.c_str(), AT_FDCWD, name.c_str(), RENAME_EXCHANGE) != 0) {
    fs::remove_all(name);  // a file system that cannot exchange
    return fs::rename(finished, name);
  }
  fs::remove_all(finished);
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

/// Fills a folder under another name and gives it its own; `then` ends the saving.
/// Errors: [checkpoint/write].
void write_folder(const fs::path& target, const std::function<void(const fs::path&)>& fill,
                  const std::function<void()>& then) {
  const fs::path partial =
      target.parent_path() / fmt::format(".{}.partial", target.filename().string());
  try {
    if (target.has_parent_path()) fs::create_directories(target.parent_path());
    fs::remove_all(partial);
    fs::create_directory(partial);
    fill(partial);
    sync_path(partial);
    give_name(partial, target);
    then();
  } catch (const std::exception& error) {
    std::error_code ignored;
    fs::remove_all(partial, ignored);
    const auto* const known = dynamic_cast<const Error*>(&error);
    throw_checkpoint_write(target.string(), known != nullptr ? known->message() : error.what());
  }
}

}  // namespace

CheckpointFolder::CheckpointFolder(std::string folder, std::vector<std::string> attachments)
    : folder_(std::move(folder)), attachments_(std::move(attachments)) {}

std::string CheckpointFolder::save(Block& model, const Optimizer& optimizer,
                                   const RunState& state) const {
  const fs::path target = fs::path(folder_) / fmt::format("step={}", state.steps_done);
  const TensorMap weights = model_tensors(model);
  const TensorMap moments = optimizer.state();
  check_tensors(weights, state.steps_done);
  check_tensors(moments, state.steps_done);
  const auto fill = [&](const fs::path& partial) {
    write_safetensors(partial / "model.safetensors", weights);
    write_safetensors(partial / "optimizer.safetensors", moments);
    const at::Tensor random = at::globalContext().defaultGenerator(at::kCPU).get_state();
    write_safetensors(partial / "random.safetensors", {{"cpu", random}});
    for (const std::string& file : attachments_) attach(file, partial);
    write_state(partial / "state.json", state, false);
  };
  write_folder(target, fill, [&] { point_last(folder_, target); });
  return target.string();
}

void write_first_checkpoint(const std::string& folder, Block& model, const Attach& attach) {
  const TensorMap weights = model_tensors(model);
  check_tensors(weights, 0);
  fs::path target = fs::path(folder).lexically_normal();
  if (!target.has_filename()) target = target.parent_path();  // a slash at the end
  const auto fill = [&](const fs::path& partial) {
    write_safetensors(partial / "model.safetensors", weights);
    attach(partial.string());
    write_state(partial / "state.json", {}, true);
  };
  write_folder(target, fill, [] {});
}

std::string CheckpointFolder::newest() const {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder_, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(".step=") && name.ends_with(".partial")) fs::remove_all(entry.path());
  }
  const auto complete = list(folder_);
  if (complete.empty()) return "";
  const fs::path& newest = complete.back().second;
  if (fs::read_symlink(fs::path(folder_) / "last", ignored) != newest.filename()) {
    point_last(folder_, newest);
  }
  return newest.string();
}

void CheckpointFolder::rotate(int64_t keep_last, const std::vector<std::string>& keep) const {
  auto complete = list(folder_);
  const auto count = static_cast<int64_t>(complete.size());
  for (int64_t i = 0; i < count - std::max<int64_t>(1, keep_last); ++i) {
    const std::string path = complete[static_cast<size_t>(i)].second.string();
    if (std::find(keep.begin(), keep.end(), path) == keep.end()) fs::remove_all(path);
  }
}

}  // namespace s2s
