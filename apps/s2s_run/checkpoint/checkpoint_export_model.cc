#include "s2s_run/checkpoint/checkpoint_export_model.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/atomic_file.h"
#include "base/path_pattern.h"
#include "checkpoint/checkpoint.h"
#include "compare/compare.h"
#include "nn/lora.h"
#include "run/run.h"
#include "s2s/foreign_class.h"
#include "s2s/foreign_text.h"
#include "s2s/kinds/model_capabilities.h"
#include "s2s/nn/weights.h"
#include "s2s_run/checkpoint/adapter_base.h"
#include "s2s_run/checkpoint/checkpoint_export_tokenizer.h"
#include "s2s_run/checkpoint/stored_config.h"
#include "train/train_errors.h"
#include "weights/checkpoint_files.h"
#include "weights/lora_fused.h"

namespace s2s::run {
namespace {

namespace fs = std::filesystem;

/// The name of a dtype in config.json.
std::string torch_name(at::ScalarType type) {
  if (type == at::kBFloat16) return "bfloat16";
  if (type == at::kHalf) return "float16";
  return type == at::kDouble ? "float64" : "float32";
}

/// transformers 5 always uses its own tokenizer class for these models.
void warn_of_own_class(const Config& foreign) {
  const Config* const type = foreign.find("model_type");
  if (type == nullptr || !type->text().starts_with("qwen2")) return;
  fmt::print(
      stderr,
      "note: AutoTokenizer of transformers 5 gives different ids for a model of type {}; load the "
      "tokenizer with PreTrainedTokenizerFast.from_pretrained\n",
      printable_name(type->text()));
}

}  // namespace

std::optional<at::ScalarType> float_type(const ExportArguments& arguments) {
  if (arguments.dtype.empty()) return std::nullopt;
  return parse_dtype(arguments.dtype);
}

bool is_of_adapter(const std::string& name) { return name.find(".lora_") != std::string::npos; }

void write_model_folder(const ExportArguments& arguments, Config foreign, const TensorMap& tensors,
                        const Registries& registries) {
  S2S_ASSERT(!tensors.empty(), "a model has parameters");
  const ShardSettings settings{arguments.max_shard_bytes, float_type(arguments)};
  const at::ScalarType type = written_type(tensors.begin()->second, settings.float_type);
  foreign["torch_dtype"] = Config::scalar(torch_name(type), true);
  const WrittenShards written = write_weight_shards(arguments.output, tensors, settings);
  write_file_atomically((fs::path(arguments.output) / "config.json").string(),
                        config_json(foreign).dump(2) + "\n");
  copy_tokenizer(arguments.checkpoint, arguments.output);
  if (write_transformers_tokenizer(arguments.checkpoint, arguments.output, registries)) {
    warn_of_own_class(foreign);
  }
  copy_generation_config(arguments.checkpoint, arguments.output);
  fmt::print("wrote {}: {} tensors, {:.1f} MB in {} file{}\n", arguments.output, tensors.size(),
             static_cast<double>(written.total_bytes) / 1e6, written.num_files,
             written.num_files == 1 ? "" : "s");
}

namespace {

/// A checkpoint's model, whose tensors are those of the file.
class WholeModel {
 public:
  WholeModel(const ExportArguments& arguments, const RunProgram& program)
      : arguments_(arguments),
        setup_({(fs::path(arguments.checkpoint) / "config.yaml").string(), {}},
               RunPurpose::kGenerate, program, arguments.checkpoint) {
    tokenizer_ = setup_.builder().tokenizer(arguments.checkpoint);
    model_ = setup_.builder().meta_model(tokenizer_.get(), arguments.checkpoint);
  }

  void write_model() {
    const auto* const foreign = find_capability<HasForeignClass>(*model_);
    if (foreign == nullptr) {
      throw_no_capability(setup_.builder().settings().model.type,
                          "be exported to transformers: it has no language model and no class "
                          "there (NeMo's class: --nemo)");
    }
    const std::vector<NamedTensor> ours = own_tensors();
    take_stored(ours);
    merge_lora(*model_);  // changes memory only: the mapping is private
    const NameMap names = model_->checkpoint_names();
    TensorMap tensors;
    for (const NamedTensor& tensor : ours) {
      if (is_of_adapter(tensor.name) || !foreign->is_exported(tensor.name)) continue;
      const auto theirs = names.to_theirs(tensor.name);
      S2S_ASSERT(theirs.has_value(), "a name map names every tensor");
      tensors[*theirs] = tensor.tensor->detach();
    }
    Config config = foreign->hf_config();
    add_foreign_parts(foreign->foreign_parts(), config, tensors);
    write_model_folder(arguments_, std::move(config), tensors, setup_.registries());
  }

  void write_adapters() {
    LoraOptions lora = setup_.builder().settings().model.lora;
    if (lora.r == 0) {
      throw_no_export("the configuration of this checkpoint has no model.lora", "a run with LoRA");
    }
    take_stored(own_tensors());
    TensorMap tensors = lora_tensors(*model_, model_->checkpoint_names());
    // Modules by their whole names: the last segments may also be those of modules of other
    // classes, which PEFT refuses.
    for (auto& [name, tensor] : tensors) {
      tensor = tensor.to(written_type(tensor, float_type(arguments_)));
    }
    lora.target_only(adapted_modules(tensors));
    write_adapter(arguments_.output, tensors, lora, base_model());
    fmt::print("wrote {}: {} tensors\n", arguments_.output, tensors.size());
  }

 private:
  /// model.path as the configuration has it, or "".
  std::string source() const {
    const Config* const path = setup_.config().find_path("model.path");
    return path != nullptr && path->is_scalar() && !path->is_null() ? path->text() : "";
  }

  /// What an adapter's configuration names as its base.
  std::string base_model() const {
    if (!arguments_.base_model.empty()) return arguments_.base_model;
    Config config = stored_config(arguments_.checkpoint);
    const std::string path = stored_text(config, {"model", "path"}).value_or("");
    const std::string folder = fs::absolute(path).lexically_normal().string();
    if (!path.empty() && has_transformers_model(folder)) return folder;
    fmt::print(stderr,
               "note: model.path is no folder with the weights that the adapters belong to; name "
               "one with --base-model NAME\n");
    return "";
  }

  /// Everything that checkpoints store, except those of a frozen codec.
  std::vector<NamedTensor> own_tensors() {
    std::vector<NamedTensor> all = stored_tensors(*model_);
    std::set<at::Tensor*> of_codec;
    model_->for_each_block([&](const std::string&, Block& block) {
      if (dynamic_cast<Codec*>(&block) == nullptr || !block.named_parameters().empty()) return;
      for (const NamedTensor& t : stored_tensors(block)) of_codec.insert(t.tensor);
    });
    std::erase_if(all, [&](const NamedTensor& t) { return of_codec.count(t.tensor) != 0; });
    return all;
  }

  void take_stored(const std::vector<NamedTensor>& ours) const {
    require_checkpoint(arguments_.checkpoint);
    const ShardFiles file = ShardFiles::open(arguments_.checkpoint, "model");
    for (const NamedTensor& tensor : ours) *tensor.tensor = file.tensor(tensor.name);
  }

  void add_foreign_parts(const ForeignParts& parts, Config& config, TensorMap& tensors) {
    if (parts.tensors.empty() || copy_from_source(parts, config, tensors)) return;
    if (add_own_codec(parts, config, tensors)) return;
    fmt::print(stderr,
               "note: {} of transformers' class is not in the export, because model.path names no "
               "folder with it, and the codec of the model is another; from_pretrained gives it "
               "random values\n",
               parts.tensors.front());
  }

  /// True when the folder that model.path names has the parts.
  bool copy_from_source(const ForeignParts& parts, Config& config, TensorMap& tensors) const {
    const std::string folder = source();
    const fs::path file = fs::path(folder) / "config.json";
    if (folder.empty() || !fs::exists(file)) return false;
    const Config foreign = read_json(file.string());
    for (const std::string& key : parts.config_keys) {
      if (const Config* const value = foreign.find(key)) config[key] = *value;
    }
    size_t copied = 0;
    const WeightFiles files = WeightFiles::open(folder);
    for (const auto& [name, facts] : files.facts()) {
      const bool is_part =
          std::any_of(parts.tensors.begin(), parts.tensors.end(),
                      [&](const std::string& part) { return match_path(part, name).has_value(); });
      if (!is_part) continue;
      tensors[name] = files.tensor(name);
      ++copied;
    }
    return copied > 0;
  }

  /// True when the model's codec is the one of the class: its checkpoints may have the names of the
  /// part. The first part of a class is its codec.
  bool add_own_codec(const ForeignParts& parts, Config& config, TensorMap& tensors) {
    const std::string& part = parts.tensors.front();
    Codec* codec = nullptr;
    std::string place;
    model_->for_each_block([&](const std::string& path, Block& block) {
      auto* const found = dynamic_cast<Codec*>(&block);
      if (found == nullptr || codec != nullptr) return;
      codec = found;
      place = path;
    });
    const auto* const foreign = dynamic_cast<const HasForeignClass*>(codec);
    if (foreign == nullptr) return false;
    const NameMap names = codec->checkpoint_names();
    const bool is_of_class = std::any_of(names.other_spellings.begin(), names.other_spellings.end(),
                                         [&](const NameRule& rule) { return rule.theirs == part; });
    if (!is_of_class) return false;
    const ShardFiles file = ShardFiles::open(arguments_.checkpoint, "model");
    for (const NamedTensor& tensor : stored_tensors(*codec)) {
      const std::string theirs = names.to_theirs(tensor.name).value_or(tensor.name);
      tensors[fill_pattern(part, {theirs})] = file.tensor(place + "." + tensor.name);
    }
    config[parts.config_keys.front()] = foreign->hf_config();
    return true;
  }

  const ExportArguments& arguments_;
  Run setup_;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unique_ptr<Model> model_;
};

}  // namespace

void export_whole_model(const ExportArguments& arguments, const RunProgram& program) {
  WholeModel model(arguments, program);
  if (arguments.adapter) {
    model.write_adapters();
  } else {
    model.write_model();
  }
}

}  // namespace s2s::run
