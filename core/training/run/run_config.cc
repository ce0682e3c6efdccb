#include "run/run_config.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_copies.h"
#include "config/interpolation.h"
#include "config/load_config.h"
#include "config/run_blocks.h"
#include "plugin/component_id.h"
#include "plugin/plugins_options.h"
#include "run/checkpoint_config.h"
#include "run/described_model.h"
#include "s2s/data/duplex_data.h"
#include "s2s/foreign_text.h"
#include "s2s/kinds/encoder.h"
#include "s2s/kinds/model.h"
#include "s2s/kinds/optimizer.h"
#include "s2s/kinds/schedule.h"
#include "train/run_options.h"

namespace s2s::run {

namespace {

std::string folder_of(const std::string& file) {
  const std::string folder = std::filesystem::path(file).parent_path().string();
  return folder.empty() ? "." : folder;
}

/// Returns the option table of `kind:name`. Loads its plugin on demand.
OptionTable component_table(const Registries& registries, const std::string& kind,
                            const std::string& name, const Config& name_node,
                            const std::string& name_path) {
  // The registry appends ".name" itself.
  const std::string path =
      name_path.ends_with(".name") ? name_path.substr(0, name_path.size() - 5) : "";
  OptionTable table;
  for_each_kind([&]<class T>() {
    if (kind != KindName<T>::value) return;
    const Component<T>& component = registries.get<T>(name, name_node, path);
    if (component.options != nullptr) table = component.options();
  });
  return table;
}

/// Returns the checkpoint that a run of this configuration resumes from, or "" for a new run.
std::string checkpoint_of_run(const Config& config) {
  const Config* node = config.find("exp_manager");
  ExpManagerBlock manager;
  try {
    if (node != nullptr) manager = read_options<ExpManagerBlock>(*node, "exp_manager");
  } catch (const Error&) {
    return "";  // the check has already reported these errors
  }
  const std::filesystem::path last =
      std::filesystem::path(manager.run_folder()) / "checkpoints" / "last";
  if (manager.resume_if_exists && std::filesystem::is_directory(last)) return last.string();
  if (!manager.resume_from_checkpoint) return "";
  try {
    return checkpoint_of(*manager.resume_from_checkpoint);
  } catch (const Error&) {
    return *manager.resume_from_checkpoint;  // reading the checkpoint reports a wrong path
  }
}

/// Errors: those of the strategy, [config/strategy] when it cannot use this number of ranks.
void try_strategy(const Registries& registries, const Config& config) {
  const std::optional<int64_t> num_ranks = ranks_to_try(config);
  if (!num_ranks) return;
  try {
    mesh_of_strategy(registries, config, *num_ranks);
  } catch (const Error& error) {
    if (error.id() != "comm/mesh" || !configured_ranks(config)) throw;
    throw Error(ExitCode::kConfig, "config/strategy",
                "trainer.devices and trainer.num_nodes say " + std::to_string(*num_ranks) +
                    (*num_ranks == 1 ? " process" : " processes") +
                    ", but trainer.strategy cannot use them: " + error.message());
  }
}

/// Whether `checkpoint` is of the folder that this run writes into, and not one to start from.
bool is_run_folder(const Config& config, const std::string& checkpoint) {
  const Config* const given = config.find_path("exp_manager.resume_from_checkpoint");
  const bool is_given = given != nullptr && !given->is_null();
  return !is_given && !checkpoint.empty() && checkpoint == checkpoint_of_run(config);
}

void try_build(const Registries& registries, const std::string& kind, const Config& config,
               const std::string& checkpoint) {
  if (kind == "strategy") return try_strategy(registries, config);
  BuildContext context;
  if (kind == "optimizer") {
    context.path = "model.optimizer";
    registries.create<Optimizer>(optimizer_component(config), context);
  } else if (kind == "schedule") {
    context.path = "model.lr_scheduler";
    registries.create<Schedule>(*config.find_path(context.path), context);
  } else if (kind == "model") {
    if (is_run_folder(config, checkpoint)) check_run_folder(checkpoint, config);
    describe_model(with_checkpoint_copies(config, checkpoint), registries);
  }
}

/// Replaces `translate_from` of a part, a foreign config, by the options that its component makes
/// of it. Errors: those of the component, added to `findings`.
void translate_part(const Registries& registries, Config& part, const std::string& path,
                    Findings& findings) {
  const Config* const foreign = part.is_map() ? part.find("translate_from") : nullptr;
  const Config* const name = foreign == nullptr ? nullptr : part.find("name");
  if (name == nullptr) return;
  try {
    const Component<Encoder>& component =
        registries.get<Encoder>(name->as_string(path + ".name"), *name, path);
    if (component.translate == nullptr) return;
    Config options = component.translate(*foreign);
    options.set_origin(part.origin());
    part.erase("translate_from");
    for (const auto& [key, value] : part.entries()) options[key] = value;
    part = std::move(options);
  } catch (const Error& error) {
    findings.add(error);
    part.erase("translate_from");
  }
}

/// Data sets without a name are read by the data component that the model names.
void name_data_of_model(const Registries& registries, Config& config) {
  const Config* const type = config.find_path("model.type");
  Config* const data = config.find("data");
  if (type == nullptr || !type->is_scalar() || data == nullptr || !data->is_map()) return;
  const char* name = nullptr;
  try {
    name = registries.get<Model>(type->text(), *type, "model.type").data;
  } catch (const Error&) {
    return;  // the check reports it
  }
  if (name == nullptr) return;
  for (const char* key : {"train_ds", "validation_ds"}) {
    Config* const block = data->find(key);
    if (block == nullptr || !block->is_map() || block->find("name") != nullptr) continue;
    Origin origin;
    origin.source = "default of model.type: " + type->text();
    Config node = Config::scalar(name);
    node.set_origin(std::move(origin));
    (*block)["name"] = std::move(node);
  }
}

}  // namespace

RunConfig::RunConfig(const ConfigArguments& arguments, RunPurpose purpose,
                     const RunProgram& program, std::string checkpoint)
    : checkpoint_(std::move(checkpoint)) {
  Config config = load_config_safely(arguments.path, checkpoint_, &dropped_);
  apply_overrides(config, arguments.overrides);
  check_config(config, arguments.path, purpose, program);
}

RunConfig::RunConfig(const std::string& checkpoint, const RunProgram& program)
    : checkpoint_(checkpoint) {
  const std::string file = (std::filesystem::path(checkpoint) / "config.yaml").string();
  const Config config = load_config_safely(file, checkpoint, &dropped_);
  check_config(language_model_config(config, checkpoint), file, RunPurpose::kPlan, program);
}

void RunConfig::check_config(const Config& config, const std::string& file, RunPurpose purpose,
                             const RunProgram& program) {
  Findings found;
  open_host(config, file, program, found);
  host_->install(registries_);
  check_ = check_run_config(config, schema(purpose, program));
  Findings all;
  for (const Error& error : check_.findings.errors()) {
    all.add(with_dropped_plugins(error, dropped_.plugins));
  }
  for (const Error& error : found.errors()) all.add(error);
  check_.findings = std::move(all);
  for (const std::string& dropped : {dropped_.plugins, dropped_.commands}) {
    if (!dropped.empty()) check_.notes.others.push_back(dropped);
  }
}

/// Errors in the `plugins` block are reported by the check. Missing files and folders are reported
/// here, and the check continues without them.
void RunConfig::open_host(const Config& config, const std::string& file, const RunProgram& program,
                          Findings& findings) {
  Config resolved = config;
  Findings reported_later;
  resolve_interpolations(resolved, reported_later);
  SearchInputs inputs = process_search_inputs(program.plugin_paths);
  try {
    inputs = process_search_inputs(program.plugin_paths, resolved, folder_of(file));
  } catch (const Error&) {
  }
  try {
    host_ = std::make_unique<PluginHost>(inputs);
  } catch (const Error& error) {
    host_ = std::make_unique<PluginHost>(process_search_inputs(program.plugin_paths));
    findings.add(error);
  }
}

RunSchema RunConfig::schema(RunPurpose purpose, const RunProgram& program) const {
  RunSchema schema;
  schema.purpose = purpose;
  schema.blocks["plugins"] = list_options<PluginsOptions>();
  schema.blocks["data"] = list_options<DuplexDataOptions>();
  schema.kinds = kind_names();
  schema.component = [this](const std::string& kind, const std::string& name,
                            const Config& name_node, const std::string& name_path) {
    return component_table(registries_, kind, name, name_node, name_path);
  };
  schema.try_build = [this, purpose](const std::string& kind, const Config& config) {
    const bool is_own = checkpoint_.empty() && purpose == RunPurpose::kTrain;
    run::try_build(registries_, kind, config, is_own ? checkpoint_of_run(config) : checkpoint_);
  };
  if (program.translate) {
    schema.translate = [this, &program](Config& read, Findings& findings, ConfigNotes& notes) {
      std::vector<std::string> llms;
      for (const auto& [id, file] : host_->scan().owners) {
        if (id.kind == "llm") llms.push_back(id.name);
      }
      name_data_of_model(registries_, read);
      program.translate(llms, read, findings, notes);
      Config* const model = read.find("model");
      Config* const encoder =
          model == nullptr || !model->is_map() ? nullptr : model->find("encoder");
      if (encoder != nullptr) translate_part(registries_, *encoder, "model.encoder", findings);
    };
  }
  schema.instead = program.instead_of;
  if (program.add_blocks) program.add_blocks(schema.blocks);
  return schema;
}

}  // namespace s2s::run
