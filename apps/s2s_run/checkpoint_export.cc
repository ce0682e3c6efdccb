// s2s-run checkpoint export CHECKPOINT OUTPUT: the language model as a folder that transformers'
// from_pretrained loads, or its adapters as a folder that PEFT loads.

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "config/config_errors.h"
#include "config/config_json.h"
#include "eval/compare.h"
#include "s2s/decoder.h"
#include "s2s/lora.h"
#include "s2s/registry.h"
#include "s2s/weights.h"
#include "s2s_run/checked_config.h"
#include "train/checkpoint.h"
#include "train/run_options.h"
#include "train/train_errors.h"
#include "weights/safetensors.h"

namespace s2s::run {
namespace {

namespace fs = std::filesystem;

struct ExportArguments {
  std::string checkpoint, output, dtype;
  bool adapter = false;
};

/// The language model of a checkpoint's configuration, without memory.
std::unique_ptr<Backbone> describe(const Config& config, const Registries& registries) {
  const Config* node = config.find_path("model.llm");
  if (node == nullptr) throw missing_key_error("model.llm", config, "the language model");
  BuildContext context;
  context.path = "model.llm";
  return registries.create<Backbone>(*node, context);
}

/// Its config.json.
Config foreign_config(const Backbone& llm) {
  const auto* const decoder = dynamic_cast<const Decoder*>(&llm);
  if (decoder == nullptr || decoder->facts().foreign_config.is_null()) {
    throw_no_export("the language model of this checkpoint has no counterpart in transformers",
                    "a plugin that sets DecoderFacts::foreign_config");
  }
  return decoder->facts().foreign_config;
}

/// The stored tensor of a parameter of the language model, whose embedding and head may lie beside
/// the rest of it.
std::string stored_name(const SafetensorsFile& file, const std::string& ours) {
  for (const std::string& name : {"llm." + ours, ours}) {
    if (file.contains(name)) return name;
  }
  throw_no_export("'" + file.path() + "' lacks 'llm." + ours + "'",
                  "a checkpoint of a speech model as s2s-run wrote it");
}

bool is_of_adapter(const std::string& name) { return name.find(".lora_") != std::string::npos; }

struct Exporter {
  const ExportArguments& arguments;
  const Config& config;
  const Registries& registries;

  SafetensorsFile open() const {
    require_in_checkpoint(arguments.checkpoint, "model.safetensors");
    return SafetensorsFile::open((fs::path(arguments.checkpoint) / "model.safetensors").string());
  }

  at::Tensor cast(const at::Tensor& tensor) const {
    if (arguments.dtype.empty() || !tensor.is_floating_point()) return tensor;
    return tensor.to(parse_dtype(arguments.dtype));
  }

  void write_model() const {
    const std::unique_ptr<Backbone> llm = describe(config, registries);
    Config foreign = foreign_config(*llm);
    const LoraOptions lora = read_run_options(config).model.lora;
    if (lora.r > 0) add_lora(*llm, lora);
    const SafetensorsFile file = open();
    for (const NamedTensor& ours : llm->named_parameters()) {
      const at::Tensor stored = file.tensor(stored_name(file, ours.name));
      *ours.tensor = lora.r > 0 ? stored.clone() : stored;  // merging writes, the file is mapped
    }
    merge_lora(*llm);
    TensorMap tensors;
    for (const auto& [name, tensor] : export_weights(*llm, llm->checkpoint_names())) {
      if (!is_of_adapter(name)) tensors[name] = cast(tensor);
    }
    const std::string type =
        tensors.empty() ? "Float" : c10::toString(tensors.begin()->second.scalar_type());
    foreign["torch_dtype"] = Config::scalar(torch_name(type), true);
    fs::create_directories(arguments.output);
    write_safetensors(file_in_output("model.safetensors"), tensors, {{"format", "pt"}});
    write_file_atomically(file_in_output("config.json"), config_json(foreign).dump(2) + "\n");
    copy_tokenizer();
    fmt::print("wrote {}: {} tensors\n", arguments.output, tensors.size());
  }

  void write_adapters() const {
    const LoraOptions lora = read_run_options(config).model.lora;
    if (lora.r == 0) {
      throw_no_export("the configuration of this checkpoint has no model.lora", "a run with LoRA");
    }
    const std::unique_ptr<Backbone> llm = describe(config, registries);
    add_lora(*llm, lora);
    const SafetensorsFile file = open();
    for (const NamedTensor& ours : llm->named_parameters()) {
      if (!is_of_adapter(ours.name)) continue;
      *ours.tensor = cast(file.tensor(stored_name(file, ours.name)));
    }
    const TensorMap tensors = lora_tensors(*llm, llm->checkpoint_names());
    write_adapter(arguments.output, tensors, lora);
    fmt::print("wrote {}: {} tensors\n", arguments.output, tensors.size());
  }

 private:
  std::string file_in_output(const char* name) const {
    return (fs::path(arguments.output) / name).string();
  }

  /// What config.json calls an element type.
  static std::string torch_name(const std::string& type) {
    if (type == "BFloat16") return "bfloat16";
    if (type == "Half") return "float16";
    return type == "Double" ? "float64" : "float32";
  }

  /// The tokenizer's files, as the checkpoint holds them.
  void copy_tokenizer() const {
    const fs::path tokenizer = fs::path(arguments.checkpoint) / kTokenizerCopy;
    if (!fs::is_directory(tokenizer)) return;
    for (const auto& entry : fs::directory_iterator(tokenizer)) {
      fs::copy_file(entry.path(), fs::path(arguments.output) / entry.path().filename(),
                    fs::copy_options::overwrite_existing);
    }
  }
};

int export_checkpoint(const ExportArguments& arguments, const Invocation& invocation) {
  const fs::path config = fs::path(arguments.checkpoint) / "config.yaml";
  require_in_checkpoint(arguments.checkpoint, "config.yaml");
  const CheckedConfig checked({config.string(), {}}, RunPurpose::kPlan, invocation);
  checked.check().findings.throw_if_any();
  const Exporter exporter{arguments, checked.check().written, checked.registries()};
  if (arguments.adapter) {
    exporter.write_adapters();
  } else {
    exporter.write_model();
  }
  return 0;
}

}  // namespace

void setup_checkpoint_export(CLI::App& app, Invocation& invocation) {
  CLI::App& group = command_group(app, "checkpoint", "checkpoints of runs, and other software's");
  CLI::App* command = group.add_subcommand(
      "export", "the language model as a folder that transformers' from_pretrained loads");
  auto arguments = std::make_shared<ExportArguments>();
  command->add_option("checkpoint", arguments->checkpoint, "checkpoint folder")->required();
  command->add_option("output", arguments->output, "folder to write")->required();
  command->add_option("--dtype", arguments->dtype,
                      "float32, bfloat16 or float16 (default: as it is stored)");
  command->add_flag("--adapter", arguments->adapter,
                    "write only the adapters of model.lora, as PEFT does");
  command->callback([arguments, &invocation] {
    invocation.selected = [arguments, &invocation] {
      return export_checkpoint(*arguments, invocation);
    };
  });
}

}  // namespace s2s::run
