// Loads checkpoints. Nothing is copied until all names and sizes are checked.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_shards.h"
#include "checkpoint/checkpoint_state.h"
#include "checkpoint/checkpoint_traces.h"
#include "checkpoint/checkpoint_write.h"
#include "config/load_config.h"
#include "train/train_errors.h"
#include "train/weight_average.h"
#include "weights/checkpoint_files.h"
#include "weights/checkpoint_proof.h"
#include "weights/finite.h"
#include "weights/shape_text.h"
#include "weights/weights_errors.h"

namespace s2s {
namespace {

namespace fs = std::filesystem;

/// Returns the folder of checkpoints that `path` refers to, or "".
fs::path checkpoints_of(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path / "checkpoints", ignored)) return path / "checkpoints";
  return fs::is_symlink(path / "last", ignored) ? path : fs::path();
}

namespace fs = std::filesystem;

ShardFiles open_group(const std::shared_ptr<CheckedFiles>& files, const std::string& group) {
  if (files->index() == nullptr) require_in_checkpoint(files->folder(), group + ".safetensors");
  return ShardFiles::open(files, group);
}

std::shared_ptr<CheckedFiles> open_files(const std::string& checkpoint) {
  if (!fs::is_directory(checkpoint)) throw_no_checkpoint(checkpoint, "no such folder");
  return CheckedFiles::open(checkpoint);
}

/// Errors: [weights/not-finite] with the index in the full tensor.
void check_numbers(const ShardFiles& files, const std::string& name,
                   const std::vector<TensorSpan>& spans) {
  const std::optional<NotFinite> bad = find_not_finite(files.elements(name, spans));
  files.release(name);  // keep only one tensor in memory
  if (!bad) return;
  throw weights_errors::not_finite(
      files.path(), name,
      coordinates(files.entries().at(name).sizes, element_at(spans, bad->index.at(0))), bad->value);
}

/// What a model loads from a checkpoint: elements of its shards, and unallocated buffers in full.
struct Wanted {
  std::vector<LocalShard> parts;
  std::vector<NamedTensor> without_memory;
  std::set<std::string> names;  // all names of the model
};

Wanted wanted_of(Block& model, const std::vector<LocalShard>& parts) {
  Wanted wanted{parts, {}, {}};
  for (const LocalShard& part : parts) wanted.names.insert(part.name);
  for (NamedTensor& stored : stored_tensors(model)) {
    const bool is_new = wanted.names.insert(stored.name).second;
    if (is_new && !stored.tensor->defined()) wanted.without_memory.push_back(std::move(stored));
  }
  return wanted;
}

void check_same_model(const std::string& checkpoint, const Wanted& wanted,
                      const ShardFiles& files) {
  std::vector<std::string> differences;
  for (const std::string& name : wanted.names) {
    if (!files.contains(name)) differences.push_back("missing in the checkpoint: " + name);
  }
  for (const LocalShard& part : wanted.parts) {
    const auto stored = files.entries().find(part.name);
    if (stored == files.entries().end() || stored->second.sizes == part.sizes) continue;
    differences.push_back(
        fmt::format("different size: {} is {} in the checkpoint and {} in the model", part.name,
                    shape_text(stored->second.sizes), shape_text(part.sizes)));
  }
  for (const auto& [name, entry] : files.entries()) {
    if (wanted.names.count(name) == 0) differences.push_back("not in this model: " + name);
  }
  if (!differences.empty()) throw_other_model(checkpoint, differences);
}

/// Returns the stored state that corresponds to `own`. A state that does not fit is returned as a
/// full tensor, and the optimizer reports the difference.
at::Tensor stored_state(const ShardFiles& files, const std::string& name, const at::Tensor* own,
                        const LocalShard* part) {
  const SafetensorsEntry& entry = files.entries().at(name);
  const bool is_cut =
      own != nullptr && part != nullptr && is_cut_like(*own, *part) && entry.sizes == part->sizes;
  const std::vector<TensorSpan> all = {{0, count_elements(entry.sizes)}};
  const std::vector<TensorSpan>& spans = is_cut ? part->spans : all;
  check_numbers(files, name, spans);
  const at::Tensor elements = files.elements(name, spans);
  return is_cut ? elements.view(own->sizes()) : elements.view(entry.sizes);
}

TensorMap stored_optimizer(const ShardFiles& files, const TensorMap& own,
                           const std::vector<LocalShard>& parts) {
  const PartsByName by_name(parts);
  TensorMap states;
  for (const auto& [name, entry] : files.entries()) {
    const auto ours = own.find(name);
    const LocalShard* const part = by_name.of_state(name);
    const bool is_held = parts.empty() || (part != nullptr && part->tensor.numel() > 0);
    if (ours == own.end() && !is_held) continue;  // state of elements that other ranks own
    states[name] = stored_state(files, name, ours == own.end() ? nullptr : &ours->second, part);
  }
  return states;
}

/// Returns the old rank whose random state this rank takes over.
int64_t random_rank(const MeshShape& then, const ResumingRank& now) {
  MeshPosition position = position_in_mesh(now.mesh, now.rank);
  const int64_t data = position.data(now.mesh) % then.data_size();
  position.replicate = data / then.shard;
  position.shard = data % then.shard;
  position.pipeline %= then.pipeline;
  position.context %= then.context;
  position.tensor %= then.tensor;
  return rank_at_position(then, position);
}

TensorMap stored_random(CheckedFiles& files, const nlohmann::json& state,
                        const ResumingRank& place) {
  const MeshShape mesh = mesh_of_state(state);
  const int64_t num_ranks = files.index() == nullptr ? 1 : files.index()->num_ranks;
  const bool is_known = mesh.world_size() == num_ranks;
  const std::string file =
      rank_file_name("random", is_known ? random_rank(mesh, place) : 0, num_ranks);
  files.require(file);
  files.check_whole(file);
  TensorMap states;
  for (const auto& [name, tensor] : files.tensors(file).tensors()) states[name] = tensor.clone();
  if (states.count("cpu") == 0) throw checkpoint_errors::incomplete(files.folder(), file);
  return states;
}

}  // namespace

std::string checkpoint_of(const std::string& path) {
  const fs::path folder = checkpoints_of(path);
  if (folder.empty()) return path;
  const fs::path last = folder / "last";
  std::error_code problem;
  const fs::path step = fs::read_symlink(last, problem);
  if (problem || !fs::is_directory(last, problem)) {
    throw_no_checkpoint(path, pointer_fault(folder));
  }
  // In an untrusted run folder, the link could lead to your weights, and an export would publish
  // them.
  if (step.has_parent_path() || step == "..") {
    throw_no_checkpoint(path, "its `last` leads out of " + folder.string());
  }
  return (folder / step).string();
}

void require_in_checkpoint(const std::string& checkpoint, const std::string& file) {
  if (!fs::is_directory(checkpoint)) throw_no_checkpoint(checkpoint, "no such folder");
  if (!fs::exists(fs::path(checkpoint) / file))
    throw checkpoint_errors::incomplete(checkpoint, file);
}

void require_checkpoint(const std::string& checkpoint) {
  const bool is_indexed_there = fs::is_directory(checkpoint) && is_indexed(checkpoint);
  require_in_checkpoint(checkpoint,
                        is_indexed_there ? CheckpointIndex::kFile : "model.safetensors");
}

std::vector<std::string> other_parts(const std::string& checkpoint, const Config& config) {
  const fs::path file = fs::path(checkpoint) / "config.yaml";
  std::vector<std::string> differences;
  if (!fs::exists(file)) return differences;
  const Config stored = load_config(file.string());
  for (const char* path : {"model.type", "model.tokenizer.name", "model.llm.name",
                           "model.encoder.name", "model.codec.name"}) {
    const Config* there = stored.find_path(path);
    const Config* here = config.find_path(path);
    if (there == nullptr || here == nullptr || there->text() == here->text()) continue;
    differences.push_back(
        fmt::format("{} is {} there and {} here", path, there->text(), here->text()));
  }
  return differences;
}

void check_same_parts(const std::string& checkpoint, const Config& config) {
  const std::vector<std::string> differences = other_parts(checkpoint, config);
  if (!differences.empty()) throw_other_model(checkpoint, differences);
}

void check_run_folder(const std::string& checkpoint, const Config& config) {
  const std::vector<std::string> differences = other_parts(checkpoint, config);
  if (differences.empty()) return;
  const Config stored = load_config((fs::path(checkpoint) / "config.yaml").string());
  const Config* family = stored.find_path("model.llm.name");
  if (family == nullptr) family = stored.find_path("model.type");
  throw_other_run(fs::path(checkpoint).parent_path().parent_path().string(),
                  family == nullptr ? "" : family->text(), differences);
}

void require_room_in(const std::string& checkpoint, Block& model) {
  uintmax_t stored_bytes = 0;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(checkpoint, ignored)) {
    if (entry.is_regular_file(ignored)) stored_bytes += entry.file_size(ignored);
  }
  double elements = 0;
  for (const NamedTensor& parameter : model.named_parameters()) {
    elements += static_cast<double>(parameter.tensor->numel());
  }
  if (elements <= static_cast<double>(stored_bytes)) return;
  require_same_model(checkpoint, model);
}

void require_same_model(const std::string& checkpoint, Block& model) {
  const ShardFiles files = open_group(open_files(checkpoint), "model");
  check_same_model(checkpoint, wanted_of(model, whole_parts(model)), files);
}

void load_model(const std::string& checkpoint, Block& model, const std::vector<LocalShard>& parts) {
  const at::NoGradGuard no_grad;
  const ShardFiles files = open_group(open_files(checkpoint), "model");
  const Wanted wanted = wanted_of(model, parts);
  check_same_model(checkpoint, wanted, files);
  for (const LocalShard& part : wanted.parts) check_numbers(files, part.name, part.spans);
  for (const NamedTensor& tensor : wanted.without_memory) {
    check_numbers(files, tensor.name, {{0, count_elements(files.entries().at(tensor.name).sizes)}});
  }
  for (const LocalShard& part : wanted.parts) {
    part.tensor.detach().view({-1}).copy_(files.elements(part.name, part.spans));
    files.release(part.name);
  }
  for (const NamedTensor& tensor : wanted.without_memory) {
    *tensor.tensor = files.tensor(tensor.name).clone();
  }
}

void load_model(const std::string& checkpoint, Block& model) {
  load_model(checkpoint, model, whole_parts(model));
}

bool has_average(const std::string& checkpoint) {
  if (is_weights_only(checkpoint)) return false;
  const ShardFiles states = open_group(open_files(checkpoint), "optimizer");
  return std::any_of(states.entries().begin(), states.entries().end(),
                     [](const auto& entry) { return entry.first.ends_with(kAverageSuffix); });
}

void load_average(const std::string& checkpoint, const std::vector<LocalShard>& parts) {
  if (!has_average(checkpoint)) throw_no_average(checkpoint);
  const at::NoGradGuard no_grad;
  const ShardFiles states = open_group(open_files(checkpoint), "optimizer");
  for (const LocalShard& part : parts) {
    const std::string name = part.name + kAverageSuffix;
    if (!states.contains(name)) continue;  // frozen, or a buffer
    check_numbers(states, name, part.spans);
    part.tensor.detach().view({-1}).copy_(states.elements(name, part.spans));
    states.release(name);
  }
}

bool is_weights_only(const std::string& checkpoint) {
  return says_weights_only(read_state_json(checkpoint));
}

int64_t steps_of_checkpoint(const std::string& checkpoint) {
  return parse_state(checkpoint, read_state_json(checkpoint)).steps_done;
}

RunState load_run_state(const std::string& checkpoint, Optimizer& optimizer,
                        const std::vector<LocalShard>& parts, const ResumingRank& place) {
  const nlohmann::json content = read_state_json(checkpoint);
  RunState state = parse_state(checkpoint, content);
  const std::shared_ptr<CheckedFiles> files = open_files(checkpoint);
  if (files->index() != nullptr) files->check_whole("state.json");
  const ShardFiles moments = open_group(files, "optimizer");
  const TensorMap random = stored_random(*files, content, place);
  const TensorMap own = optimizer.state();
  TensorMap stored = stored_optimizer(moments, own, parts);
  optimizer.restore(has_averages(own) ? std::move(stored) : without_averages(std::move(stored)));
  set_random_states(random);
  return state;
}

}  // namespace s2s
