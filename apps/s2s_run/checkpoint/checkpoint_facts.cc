#include "s2s_run/checkpoint/checkpoint_facts.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint.h"
#include "config/load_config.h"
#include "config/yaml_reader.h"
#include "train/train_errors.h"
#include "weights/archives.h"
#include "weights/checkpoint_files.h"
#include "weights/checkpoint_proof.h"
#include "weights/weights_errors.h"

namespace s2s::run {
namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::pair<std::string, std::string>>;

constexpr uint64_t kMaxConfigBytes = 16'000'000;

/// Adds the scalars of `config` that exist.
void add(Lines& lines, const Config& config,
         const std::vector<std::pair<const char*, const char*>>& keys) {
  for (const auto& [label, path] : keys) {
    const Config* value = config.find_path(path);
    if (value != nullptr && value->is_scalar()) lines.emplace_back(label, value->text());
  }
}

/// A damaged file only removes its own lines.
template <class Read>
void add_from(Lines& lines, const std::vector<std::pair<const char*, const char*>>& keys,
              Read read) {
  try {
    add(lines, read(), keys);
  } catch (const Error&) {
  }
}

void add_ranks(Lines& lines, const fs::path& folder) {
  try {
    const int64_t ranks =
        is_indexed(folder.string()) ? read_checkpoint_index(folder.string()).num_ranks : 1;
    if (ranks > 1) lines.emplace_back("written by", std::to_string(ranks) + " ranks");
  } catch (const Error&) {
  }
}

void add_step(Lines& lines, const fs::path& folder) {
  try {
    const nlohmann::json state = try_read_state(folder.string());
    const auto step = state.is_object() ? state.find("steps_done") : state.end();
    if (step == state.end() || !step->is_primitive() || step->is_null()) return;
    lines.emplace_back("step", step->is_string() ? step->get<std::string>() : step->dump());
  } catch (const Error&) {
  }
}

Lines own_lines(const fs::path& folder) {
  Lines lines;
  add_step(lines, folder);
  add_ranks(lines, folder);
  add_from(lines,
           {{"model", "model.type"},
            {"language model", "model.llm.name"},
            {"encoder", "model.encoder.name"},
            {"codec", "model.codec.name"},
            {"precision", "trainer.precision"}},
           [&] { return load_config(folder / "config.yaml"); });
  return lines;
}

Lines hugging_face_lines(const fs::path& folder) {
  Lines lines;
  add_from(lines,
           {{"model type", "model_type"},
            {"architecture", "architectures.0"},
            {"class", "target"},
            {"layers", "num_hidden_layers"},
            {"hidden size", "hidden_size"},
            {"vocabulary", "vocab_size"}},
           [&] { return read_json(folder / "config.json"); });
  return lines;
}

Lines adapter_lines(const fs::path& folder) {
  Lines lines;
  add_from(lines, {{"base model", "base_model_name_or_path"}, {"r", "r"}, {"alpha", "lora_alpha"}},
           [&] { return read_json(folder / "adapter_config.json"); });
  return lines;
}

Lines nemo_lines(const std::string& path) {
  Lines lines;
  add_from(lines, {{"class", "target"}, {"NeMo", "nemo_version"}}, [&] {
    const std::string name = "model_config.yaml";
    return parse_yaml(read_archive_text(path, name, kMaxConfigBytes), path + ":" + name);
  });
  return lines;
}

bool is_nemo_file(const fs::path& path) { return path.extension() == ".nemo"; }

}  // namespace

std::string kind_text(CheckpointKind kind) {
  switch (kind) {
    case CheckpointKind::kOwn:
      return "checkpoint of s2s-run";
    case CheckpointKind::kHuggingFace:
      return "Hugging Face folder";
    case CheckpointKind::kAdapter:
      return "adapter (PEFT)";
    case CheckpointKind::kNemo:
      return "NeMo archive";
    case CheckpointKind::kFile:
      break;
  }
  return "weights";
}

CheckpointKind checkpoint_kind(const std::string& path) {
  const fs::path place = path;
  std::error_code ignored;
  if (!fs::exists(place, ignored)) {
    throw weights_errors::unreadable(path, "no such file or folder");
  }
  if (!fs::is_directory(place, ignored)) {
    return is_nemo_file(place) ? CheckpointKind::kNemo : CheckpointKind::kFile;
  }
  if (fs::exists(place / "state.json")) return CheckpointKind::kOwn;
  if (fs::exists(place / "adapter_config.json")) return CheckpointKind::kAdapter;
  if (fs::exists(place / "config.json")) return CheckpointKind::kHuggingFace;
  return CheckpointKind::kFile;
}

CheckpointFacts describe_checkpoint(const std::string& path) {
  CheckpointFacts facts{checkpoint_kind(path), path, {}};
  const fs::path place = path;
  switch (facts.kind) {
    case CheckpointKind::kOwn:
      facts.weights =
          (place / (is_indexed(path) ? CheckpointIndex::kFile : "model.safetensors")).string();
      facts.lines = own_lines(place);
      break;
    case CheckpointKind::kHuggingFace:
      facts.lines = hugging_face_lines(place);
      break;
    case CheckpointKind::kAdapter:
      facts.weights = (place / "adapter_model.safetensors").string();
      facts.lines = adapter_lines(place);
      break;
    case CheckpointKind::kNemo:
      facts.lines = nemo_lines(path);
      break;
    case CheckpointKind::kFile:
      break;
  }
  return facts;
}

}  // namespace s2s::run
