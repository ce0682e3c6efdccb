// s2s-run checkpoint export CHECKPOINT OUTPUT: exports the language model to a folder for
// from_pretrained of transformers, its adapters to a folder for PEFT, or the whole model for NeMo.

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/atomic_file.h"
#include "base/io_errors.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_copies.h"
#include "compare/compare.h"
#include "config/config_errors.h"
#include "config/config_tree.h"
#include "nn/lora.h"
#include "run/meta_model.h"
#include "run/run_config.h"
#include "run/run_processes.h"
#include "s2s/foreign_class.h"
#include "s2s/foreign_text.h"
#include "s2s/nn/weights.h"
#include "s2s/registry.h"
#include "s2s_run/checkpoint/adapter_base.h"
#include "s2s_run/checkpoint/checkpoint_export_model.h"
#include "s2s_run/checkpoint/nemo_export.h"
#include "s2s_run/checkpoint/stop_ids.h"
#include "s2s_run/config/config_arguments.h"
#include "s2s_run/new_output.h"
#include "s2s_run/subcommands.h"
#include "train/train_errors.h"
#include "weights/checkpoint_files.h"
#include "weights/lora_fused.h"
#include "weights/weight_shards.h"

namespace s2s::run {
namespace {

namespace fs = std::filesystem;

class ExportFolder {
 public:
  /// Creates the folder. Errors: [io/exists] when it contains a model, unless `force` is set or the
  /// model is of an interrupted export, and always when it is a checkpoint of a run; [io/write].
  ExportFolder(const std::string& path, bool force);
  /// Without `finish`: removes the folder if no model was written to it.
  ~ExportFolder();
  ExportFolder(const ExportFolder&) = delete;
  ExportFolder& operator=(const ExportFolder&) = delete;

  /// Marks the export as complete. Without this, the next export may overwrite it.
  void finish();

 private:
  std::string path_, mark_;
};

bool is_of_model(const std::string& name) {
  if (name.starts_with(".")) return false;
  for (const char* ending : {".safetensors", ".json", ".bin", ".model"}) {
    if (name.ends_with(ending)) return true;
  }
  return false;
}

/// Whether a folder contains files of a model. A folder that cannot be listed counts as one that
/// does.
bool has_model(const fs::path& folder) {
  std::error_code problem;
  fs::directory_iterator entry(folder, problem);
  for (; !problem && entry != fs::directory_iterator(); entry.increment(problem)) {
    if (is_of_model(entry->path().filename().string())) return true;
  }
  return problem && problem != std::errc::no_such_file_or_directory;
}

ExportFolder::ExportFolder(const std::string& path, bool force)
    : path_(path), mark_((fs::path(path) / ".s2s-export-unfinished").string()) {
  const bool was_killed = fs::exists(mark_);
  for (const char* name : {"state.json", "index.json"}) {
    const fs::path file = fs::path(path) / name;
    if (!fs::exists(file)) continue;
    throw Error(
        ExitCode::kData, "io/exists",
        "'" + path +
            "' is a checkpoint of a run; nothing was written; choose another output folder");
  }
  if (has_model(path)) require_new({path}, force || was_killed);
  make_folders(path);
  write_file_atomically(mark_, "");
  remove_partial_files(path);
}

ExportFolder::~ExportFolder() {
  std::error_code ignored;
  if (mark_.empty() || has_model(path_)) return;
  fs::remove(mark_, ignored);
  fs::remove(path_, ignored);  // removes only an empty folder
}

void ExportFolder::finish() {
  fs::remove(mark_);
  mark_.clear();
}

/// The config.json of the export. The family's own reader must accept it, because transformers'
/// class may not support an option. Errors: [checkpoint/export], [weights/config].
Config foreign_config(const Backbone& llm, const Config& config, const Registries& registries) {
  Config foreign = llm.hf_config();
  if (foreign.is_null()) {
    throw_no_export("the language model of this checkpoint has no counterpart in transformers",
                    "a plugin whose Backbone has an hf_config()");
  }
  foreign.set_origin({"config.json of the export", 0, 0});
  const Config& name = *config.find_path("model.llm.name");
  const auto& component = registries.get<Backbone>(name.text(), name, "model.llm");
  if (component.translate != nullptr) component.translate(foreign);
  return foreign;
}

/// The stored name of a parameter of the language model. Embedding and head may be stored outside
/// "llm.".
std::string stored_name(const ShardFiles& file, const std::string& ours) {
  for (const std::string& name : {"llm." + ours, ours}) {
    if (file.contains(name)) return name;
  }
  throw_no_export("'" + file.path() + "' lacks 'llm." + ours + "'",
                  "a checkpoint of a speech model as s2s-run wrote it");
}

/// The LoRA options of the run; r is 0 without LoRA.
LoraOptions lora_options(const Config& config) {
  const Config* const node = config.find_path("model.lora");
  return node == nullptr ? LoraOptions() : read_options<LoraOptions>(*node, "model.lora");
}

/// Of an adapter's folder: its base model, where no other folder has it.
constexpr const char* kBaseFolder = "base";

struct Exporter {
  const ExportArguments& arguments;
  const Config& config;
  const Registries& registries;

  ShardFiles open() const {
    require_checkpoint(arguments.checkpoint);
    return ShardFiles::open(arguments.checkpoint, "model");
  }

  /// The language model with the checkpoint's numbers, which its files are mapped into.
  std::unique_ptr<Backbone> read_model(const LoraOptions& lora) const {
    std::unique_ptr<Backbone> llm = build_meta_language_model(config, registries);
    if (lora.r > 0) add_lora(*llm, lora);
    const ShardFiles file = open();
    for (const NamedTensor& ours : llm->named_parameters()) {
      *ours.tensor = file.tensor(stored_name(file, ours.name));
    }
    return llm;
  }

  /// Writes a folder for from_pretrained, without adapters.
  void write_folder(const ExportArguments& target, Backbone& llm, const TensorMap& tensors) const {
    Config foreign = foreign_config(llm, config, registries);
    const StopIds stops = stop_ids_of(target.checkpoint, registries);
    set_stop_ids(stops, foreign);
    write_model_folder(target, foreign, tensors, registries);
    write_stop_ids(stops, target.output);
  }

  void write_model() const {
    const std::unique_ptr<Backbone> meta = build_meta_language_model(config, registries);
    foreign_config(*meta, config, registries);  // before anything is read
    const std::unique_ptr<Backbone> llm = read_model(lora_options(config));
    merge_lora(*llm);  // changes memory only: the mapping is private
    write_folder(arguments, *llm, base_tensors(*llm));
  }

  void write_adapters() const {
    LoraOptions lora = lora_options(config);
    if (lora.r == 0) {
      throw_no_export("the configuration of this checkpoint has no model.lora", "a run with LoRA");
    }
    const std::unique_ptr<Backbone> llm = read_model(lora);
    const NameMap names = llm->checkpoint_names();
    TensorMap tensors = joined_lora_tensors(*llm, names);
    for (auto& [name, tensor] : tensors) {
      tensor = tensor.to(written_type(tensor, float_type(arguments)));
    }
    const bool is_peft_text = std::none_of(
        lora.target_modules.begin(), lora.target_modules.end(),
        [](const std::string& target) { return target.find('*') != std::string::npos; });
    const bool is_joined = tensors.size() != lora_tensors(*llm, names).size();
    if (is_joined && lora.has_patterns()) {
      throw_no_export(
          "adapters of layers that its class in transformers joins have patterns of "
          "ranks or of alpha",
          "adapters of one rank and alpha");
    }
    if (!is_peft_text || is_joined) lora.target_only(adapted_modules(tensors));
    write_adapter(arguments.output, tensors, lora, base_of(*llm));
    fmt::print("wrote {}: {} tensors\n", arguments.output, tensors.size());
  }

  /// The folder with the base model: the one that it came from, else one in the output.
  std::string base_of(Backbone& llm) const {
    if (!arguments.base_model.empty()) return arguments.base_model;
    const TensorMap base = base_tensors(llm);
    const auto source = base_folder(arguments.checkpoint, "model.llm.path", base);
    if (source) return *source;
    ExportArguments target = arguments;
    target.output = fs::absolute(fs::path(arguments.output) / kBaseFolder).string();
    make_folders(target.output);
    fmt::print(stderr,
               "note: model.llm.path is no folder with the weights that the adapters belong to; "
               "they are written to {}; --base-model NAME names another base\n",
               printable_name(target.output));
    write_folder(target, llm, base);
    return target.output;
  }

  /// The parameters without adapters, under Hugging Face's names.
  static TensorMap base_tensors(Backbone& llm) {
    TensorMap tensors;
    for (const auto& [name, tensor] : export_weights(llm, llm.checkpoint_names())) {
      if (!is_of_adapter(name)) tensors[name] = tensor;
    }
    return tensors;
  }
};

void export_language_model(const ExportArguments& arguments, const RunConfig& checked) {
  checked.check().findings.throw_if_any();
  const Config written = with_checkpoint_copies(checked.check().written, arguments.checkpoint);
  const Exporter exporter{arguments, written, checked.registries()};
  if (arguments.adapter) {
    exporter.write_adapters();
  } else {
    exporter.write_model();
  }
}

int export_nemo(const ExportArguments& arguments, const Invocation& invocation) {
  const NemoExport written({arguments.checkpoint, arguments.output, arguments.max_shard_bytes},
                           invocation);
  ExportFolder folder(arguments.output, arguments.force);
  written.write();
  folder.finish();
  return 0;
}

int export_checkpoint(ExportArguments arguments, const Invocation& invocation) {
  require_one_process("checkpoint export");
  arguments.checkpoint = checkpoint_of(arguments.checkpoint);
  require_in_checkpoint(arguments.checkpoint, "config.yaml");
  if (arguments.nemo) return export_nemo(arguments, invocation);
  const RunConfig checked(arguments.checkpoint, invocation);
  if (!checked.dropped().plugins.empty()) {
    fmt::print(stderr, "note: {}\n", printable(checked.dropped().plugins));
  }
  ExportFolder folder(arguments.output, arguments.force);
  if (checked.check().written.find_path("model.llm") != nullptr) {
    export_language_model(arguments, checked);
  } else {
    export_whole_model(arguments, invocation);
  }
  folder.finish();
  return 0;
}

}  // namespace

void setup_checkpoint_export(const Command& group) {
  const Command command = group.command(
      "export",
      "export the model, or the language model inside it, to a folder that from_pretrained of "
      "transformers, or of NeMo, can load");
  ExportArguments& arguments = command.runs(export_checkpoint);
  command.option("checkpoint", arguments.checkpoint, kCheckpointDoc).required();
  command.option("output", arguments.output, "folder to write").required();
  const Argument dtype = command.option("--dtype", arguments.dtype,
                                        "float32, bfloat16 or float16 (default: the stored dtype)");
  command
      .option("--max-shard-size", arguments.max_shard_bytes,
              "maximum file size, for example 500MB or 2GiB (default: 5GB); larger models are "
              "split into several files with an index")
      .size_in_bytes(/*kb_is_1000=*/true)
      .positive();
  const Argument adapter = command.flag("--adapter", arguments.adapter,
                                        "write only the adapters of model.lora, in PEFT format");
  command
      .option("--base-model", arguments.base_model,
              "name or folder of the base model that the adapter's configuration names (default: "
              "the folder of model.llm.path, if it has the weights, else a folder 'base' in the "
              "output, which is written)")
      .needs(adapter);
  command
      .flag("--nemo", arguments.nemo,
            "write the whole model as a folder for from_pretrained of its NeMo class")
      .excludes(adapter)
      .excludes(dtype);
  command.force(arguments.force);
}

}  // namespace s2s::run
