// s2s-run checkpoint import SOURCE OUTPUT --config CONFIG: creates an s2s checkpoint from the
// weights of a model of NeMo speechlm2, or from a language model of Hugging Face.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <set>

#include "base/log.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_copies.h"
#include "config/load_config.h"
#include "nemo/nemo_class.h"
#include "provenance/manifest.h"
#include "run/meta_model.h"
#include "run/run.h"
#include "run/run_config.h"
#include "run/run_processes.h"
#include "s2s_run/checkpoint/checkpoint_facts.h"
#include "s2s_run/config/config_arguments.h"
#include "s2s_run/new_output.h"
#include "s2s_run/subcommands.h"
#include "train/run_folder.h"
#include "train/train_errors.h"
#include "weights/checkpoint_files.h"

namespace s2s::run {
namespace {

namespace fs = std::filesystem;

struct ImportArguments {
  std::string source, output;
  bool force = false;
  ConfigArguments config;
};

/// Number of these tensors that the files contain.
int64_t num_there(const std::vector<NamedTensor>& tensors, const NameMap& names,
                  const WeightFiles& files) {
  const auto is_there = [&files](const std::string& name) {
    return files.facts().count(name) != 0;
  };
  return std::count_if(tensors.begin(), tensors.end(), [&](const NamedTensor& tensor) {
    const auto theirs = names.to_theirs(tensor.name, is_there);
    return theirs && is_there(*theirs);
  });
}

/// The tensors that a source provides. The codec is that of the configuration, unless the files
/// contain all of it.
std::vector<NamedTensor> imported_tensors(Model& model, const WeightFiles& files) {
  std::vector<NamedTensor> all = stored_tensors(model);
  auto* const speaking = find_capability<HasCodec>(model);
  if (speaking == nullptr) return all;
  std::set<at::Tensor*> of_codec;
  for (const NamedTensor& t : stored_tensors(speaking->codec())) of_codec.insert(t.tensor);
  const auto first_of_codec = std::stable_partition(
      all.begin(), all.end(), [&](const NamedTensor& t) { return of_codec.count(t.tensor) == 0; });
  const std::vector<NamedTensor> codec(first_of_codec, all.end());
  if (num_there(codec, model.checkpoint_names(), files) < static_cast<int64_t>(codec.size())) {
    all.erase(first_of_codec, all.end());
  }
  return all;
}

/// The parts of a configuration that an import builds.
struct Built {
  Built(const ConfigArguments& config, const Invocation& invocation)
      : setup(config, RunPurpose::kGenerate, invocation) {
    setup.warnings().send_to([this](const std::string& message) { log.warning(message); });
    tokenizer = setup.builder().tokenizer();
    model = setup.builder().model(tokenizer.get());
  }

  Console console{std::cerr, standard_error_is_terminal(), terminal_width()};
  Log log{&console};
  Run setup;
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<Model> model;
};

/// True when the files contain a speech model and not only a language model. Some names may be in
/// both (lm_head.weight), so the larger number of matching tensors decides.
bool hold_whole_model(const WeightFiles& files, Built& built) {
  if (interop::NemoClasses(built.setup.registries()).of_tensors(files) != nullptr) return true;
  if (built.setup.config().find_path("model.llm") == nullptr) return true;  // there is no other
  const auto llm = build_meta_language_model(built.setup.config(), built.setup.registries());
  return num_there(imported_tensors(*built.model, files), built.model->checkpoint_names(), files) >
         num_there(llm->named_parameters(), llm->checkpoint_names(), files);
}

void write(const ImportArguments& arguments, const Config& config, Built& built) {
  write_first_checkpoint(arguments.output, *built.model, [&](const std::string& place) {
    const RunFolder folder(place);
    folder.write_config(effective_text(config));
    folder.write_manifest(run_manifest(built.setup.host()));
    if (built.tokenizer) folder.keep_copies(kTokenizerCopy, built.tokenizer->files());
    folder.keep_copies(kLlmCopy, llm_files(config));
  });
}

void report(const ImportArguments& arguments, const std::string& what, Built& built) {
  fmt::print("wrote {}: {} from {}\n", arguments.output, what, arguments.source);
  fmt::print("train:    s2s-run train {} exp_manager.resume_from_checkpoint={}\n",
             arguments.config.path, arguments.output);
  auto* const speaking = find_capability<HasCodec>(*built.model);
  if (speaking != nullptr && !speaking->codec().is_fitted()) {
    fmt::print("the codec has no statistics yet; the first training run computes them\n");
  } else if (find_capability<AnswersSpeech>(*built.model) != nullptr) {
    fmt::print("generate: s2s-run generate {} --checkpoint {} --input WAV --output FOLDER\n",
               arguments.config.path, arguments.output);
  }
}

/// True for a model that is read from one folder (model.path), not around a language model.
bool is_read_whole(const ConfigArguments& arguments, const Invocation& invocation) {
  const RunConfig config(arguments, RunPurpose::kGenerate, invocation);
  const Config* const type = config.check().written.find_path("model.type");
  if (type == nullptr || !type->is_scalar()) return false;
  const Component<Model>& model = config.registries().get<Model>(type->text(), *type, "model");
  const OptionTable options = model.options == nullptr ? OptionTable() : model.options();
  return std::any_of(options.begin(), options.end(),
                     [](const OptionRow& option) { return option.name == "path"; });
}

/// The weights are read as the model's initial values.
void import_whole(ImportArguments arguments, const Invocation& invocation) {
  arguments.config.overrides.push_back("model.path=" + fs::absolute(arguments.source).string());
  Built built(arguments.config, invocation);
  write(arguments, built.setup.config(), built);
  report(arguments, "the whole model", built);
}

/// The class that a .nemo archive names, or "".
std::string nemo_target(const CheckpointFacts& facts) {
  if (facts.kind != CheckpointKind::kNemo) return "";
  for (const auto& [label, value] : facts.lines) {
    if (label == "class") return value;
  }
  return "";
}

int import_checkpoint(const ImportArguments& arguments, const Invocation& invocation) {
  require_one_process("checkpoint import");
  const bool may_replace = arguments.force && fs::exists(fs::path(arguments.output) / "state.json");
  if (fs::exists(arguments.output) && !may_replace) throw_checkpoint_exists(arguments.output);
  const CheckpointFacts facts = describe_checkpoint(checkpoint_of(arguments.source));
  const WeightFiles files = WeightFiles::open(facts.weights);
  if (facts.kind == CheckpointKind::kHuggingFace && is_read_whole(arguments.config, invocation)) {
    import_whole(arguments, invocation);
    return 0;
  }
  Built built(arguments.config, invocation);
  interop::NemoClasses(built.setup.registries())
      .check(arguments.source, files, nemo_target(facts),
             built.setup.config().find_path("model.type")->text());
  if (hold_whole_model(files, built)) {
    const std::vector<NamedTensor> ours = imported_tensors(*built.model, files);
    load_tensors(ours, built.model->checkpoint_names(), files);
    write(arguments, built.setup.config(), built);
    report(arguments, fmt::format("{} tensors", ours.size()), built);
    return 0;
  }
  // The weights are read as the language model's initial values.
  ImportArguments with_path = arguments;
  with_path.config.overrides.push_back("model.llm.path=" + fs::absolute(arguments.source).string());
  Built around(with_path.config, invocation);
  write(arguments, built.setup.config(), around);
  report(arguments, "a language model, everything else with initial values,", around);
  return 0;
}

}  // namespace

void setup_checkpoint_import(const Command& group) {
  const Command command = group.command(
      "import", "convert a model of NeMo speechlm2 or a Hugging Face model to an s2s checkpoint");
  ImportArguments& arguments = command.runs(import_checkpoint);
  command
      .option("source", arguments.source,
              "NeMo .ckpt file or folder (of the hub, or of torch.distributed.checkpoint), .nemo "
              "archive, or a Hugging Face folder")
      .required();
  command.option("output", arguments.output, "folder to create").required();
  command
      .option("--config", arguments.config.path,
              "configuration (YAML) of the model that receives the weights")
      .required();
  command.option(
      "overrides", arguments.config.overrides,
      "overrides of the configuration: key.path=value with a YAML value; ~key removes a key");
  command.force(arguments.force);
}

}  // namespace s2s::run
