#include "s2s_run/checkpoint/nemo_export.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/io_errors.h"
#include "base/warnings.h"
#include "config/config_tree.h"
#include "nemo/nemo_class.h"
#include "run/run_builder.h"
#include "run/run_config.h"
#include "s2s/foreign_class.h"
#include "s2s/kinds/backbone.h"
#include "s2s/kinds/model_capabilities.h"
#include "s2s/nn/mel.h"
#include "s2s/options.h"
#include "s2s_run/checkpoint/checkpoint_export_tokenizer.h"
#include "s2s_run/checkpoint/stop_ids.h"
#include "train/train_errors.h"
#include "weights/checkpoint_files.h"
#include "weights/weight_shards.h"

namespace s2s::run {
namespace {

namespace fs = std::filesystem;

/// config.json of the model's language model, or null.
Config llm_config_of(Model& model) {
  auto* const with_llm = find_capability<HasLanguageModel>(model);
  if (with_llm == nullptr) return {};
  Config config = with_llm->language_model().hf_config();
  if (config.is_null()) {
    throw_no_export("the language model of this checkpoint has no counterpart in transformers",
                    "a plugin whose Backbone has an hf_config()");
  }
  return config;
}

/// Buffers of NeMo's front end, which ours computes when it is built.
void add_front_end(const Config& config, TensorMap& tensors) {
  const Config* const node = config.find_path("model.encoder.preprocessor");
  if (node == nullptr) return;
  const auto options = read_options<MelOptions>(*node, "model.encoder.preprocessor");
  MelBank bank;
  bank.sample_rate_hz = options.sample_rate;
  bank.n_fft = options.fft_size();
  bank.num_mels = options.features;
  bank.low_hz = options.lowfreq;
  bank.high_hz = options.highfreq.value_or(0);
  bank.slaney_norm = options.mel_norm.has_value();
  const std::string place = "perception.preprocessor.featurizer.";
  tensors[place + "fb"] = mel_filterbank(bank).unsqueeze(0);
  tensors[place + "window"] = stft_window(options.window, options.window_samples(), false);
}

}  // namespace

struct NemoExport::Parts {
  Parts(const NemoExportArguments& arguments, const RunProgram& program)
      : checked({(fs::path(arguments.checkpoint) / "config.yaml").string(), {}},
                RunPurpose::kGenerate, program, arguments.checkpoint) {
    checked.check().findings.throw_if_any();
    builder = std::make_unique<RunBuilder>(checked.check().written, checked.registries(), warnings);
    tokenizer = builder->tokenizer(arguments.checkpoint);
    model = builder->meta_model(tokenizer.get(), arguments.checkpoint);
    llm = llm_config_of(*model);
    stops = stop_ids_of(arguments.checkpoint, checked.registries());
    if (!llm.is_null()) set_stop_ids(stops, llm);
    foreign = interop::written_class(checked.registries(), checked.check().config);
    folder = fs::absolute(arguments.output).string();
    nemo = interop::written_config(foreign, exported());
  }

  ForeignExport exported() const {
    ForeignExport exported = {checked.check().config, llm, folder};
    if (auto* const speaking = find_capability<HasCodec>(*model)) {
      exported.codec_rate_hz = speaking->codec().shape().sample_rate_hz;
    }
    const Config* const weights = checked.check().written.find_path("model.token_loss_weight");
    exported.has_token_loss_weight =
        weights != nullptr && weights->is_map() && !weights->entries().empty();
    if (tokenizer == nullptr) return exported;
    const SpecialIds ids = tokenizer->special_ids();
    for (const auto& [key, id] :
         {std::pair{"bos_token", ids.bos}, {"eos_token", ids.eos}, {"pad_token", ids.pad}}) {
      exported.special_tokens[key] = tokenizer->piece(id);
    }
    return exported;
  }

  /// Under NeMo's names. A tied head is stored once, as NeMo's hub folder has it.
  TensorMap tensors(const std::string& checkpoint) const {
    const NameMap names = model->checkpoint_names();
    const ShardFiles file = ShardFiles::open(checkpoint, "model");
    TensorMap all;
    for (const NamedTensor& ours : stored_tensors(*model)) {
      const auto theirs = names.to_theirs(ours.name);
      if (!theirs || names.is_ignored(*theirs)) continue;
      all[*theirs] = file.tensor(ours.name);
    }
    add_front_end(checked.check().config, all);
    if (foreign.add_tensors != nullptr) foreign.add_tensors(exported(), *model, all);
    return all;
  }

  RunConfig checked;
  Warnings warnings;
  std::unique_ptr<RunBuilder> builder;
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<Model> model;
  StopIds stops;
  std::string folder;
  ForeignClass foreign;
  Config llm, nemo;
};

NemoExport::NemoExport(NemoExportArguments arguments, const RunProgram& program)
    : arguments_(std::move(arguments)), parts_(std::make_unique<Parts>(arguments_, program)) {}

NemoExport::~NemoExport() = default;

void NemoExport::write() const {
  const fs::path output = arguments_.output;
  const TensorMap tensors = parts_->tensors(arguments_.checkpoint);
  const WrittenShards written =
      write_weight_shards(arguments_.output, tensors, {arguments_.max_shard_bytes, std::nullopt});
  if (!parts_->llm.is_null()) {
    make_folders((output / "llm_backbone").string());
    write_file_atomically((output / "llm_backbone" / "config.json").string(),
                          config_json(parts_->llm).dump(2) + "\n");
  }
  write_file_atomically((output / "config.json").string(),
                        config_json(parts_->nemo).dump(2) + "\n");
  copy_tokenizer(arguments_.checkpoint, arguments_.output);
  if (parts_->tokenizer) {
    write_transformers_tokenizer(arguments_.checkpoint, arguments_.output,
                                 parts_->checked.registries());
    write_tokenizer_ends(parts_->stops, arguments_.output);
  } else {
    fmt::print(stderr,
               "note: the checkpoint has no tokenizer; put the files of the tokenizer into "
               "'{}', NeMo needs them\n",
               arguments_.output);
  }
  if (written.num_files > 1) {
    fmt::print(stderr, "note: NeMo reads one file only; give a larger --max-shard-size\n");
  }
  fmt::print("wrote {}: {} tensors, {:.1f} MB, for from_pretrained of NeMo's class\n",
             arguments_.output, tensors.size(), static_cast<double>(written.total_bytes) / 1e6);
}

}  // namespace s2s::run
