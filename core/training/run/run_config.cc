#include "run/run_config.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>

#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_copies.h"
#include "config/interpolation.h"
#include "config/load_config.h"
#include "config/run_blocks.h"
#include "config/run_findings.h"
#include "config/save_schedule.h"
#include "plugin/component_id.h"
#include "plugin/plugins_options.h"
#include "run/checkpoint_config.h"
#include "run/meta_model.h"
#include "s2s/data/duplex_data.h"
#include "s2s/kinds/data_source.h"
#include "s2s/kinds/encoder.h"
#include "s2s/kinds/model.h"
#include "s2s/kinds/optimizer.h"
#include "s2s/kinds/schedule.h"
#include "train/run_options.h"
#include "translate/advice.h"
#include "translate/translate.h"

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

/// True if `checkpoint` is in the folder that this run writes to, not one to start from.
bool is_run_folder(const Config& config, const std::string& checkpoint) {
  const Config* const given = config.find_path("exp_manager.resume_from_checkpoint");
  const bool is_given = given != nullptr && !given->is_null();
  return !is_given && !checkpoint.empty() && checkpoint == checkpoint_of_run(config);
}

/// Builds a part without allocating it. Errors: those of options that contradict each other.
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
  } else {
    build_meta_model(with_checkpoint_copies(config, checkpoint), registries);
  }
}

/// Replaces a part's `translate_from`, a foreign config, by the options that its component derives
/// from it. Adds its errors to `findings`.
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

/// Adds the name of the data component that reads a set.
void add_source_name(const Config* set, std::set<std::string>& names) {
  const Config* const name = set == nullptr || !set->is_map() ? nullptr : set->find("name");
  if (name != nullptr && name->is_scalar()) names.insert(name->text());
}

/// The keys of the `data` block that the sources of all sets read.
OptionTable data_block(const Registries& registries, const Config& config) {
  std::set<std::string> names;
  add_source_name(config.find_path("data.train_ds"), names);
  add_source_name(config.find_path("data.validation_ds"), names);
  if (const Config* const sets = config.find_path("data.validation_ds.datasets")) {
    for (const auto& [name, set] : sets->entries()) add_source_name(&set, names);
  }
  OptionTable table;
  bool is_duplex = names.empty();
  for (const std::string& name : names) {
    try {
      const auto own = registries.get<DataSource>(name).data_block;
      is_duplex = is_duplex || own == nullptr;
      for (OptionRow& row : own == nullptr ? OptionTable() : own()) {
        const bool is_there = std::any_of(table.begin(), table.end(), [&](const OptionRow& other) {
          return other.name == row.name;
        });
        if (!is_there) table.push_back(std::move(row));
      }
    } catch (const Error&) {
      is_duplex = true;  // the check reports it
    }
  }
  if (!is_duplex) return table;
  OptionTable duplex = list_options<DuplexDataOptions>();
  std::erase_if(table, [&](const OptionRow& row) {
    return std::any_of(duplex.begin(), duplex.end(),
                       [&](const OptionRow& other) { return other.name == row.name; });
  });
  duplex.insert(duplex.end(), table.begin(), table.end());
  return duplex;
}

/// Gives data sets without a name the data component of the model.
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
                     const RunProgram& program, std::string checkpoint, ModelCheck model)
    : checkpoint_(std::move(checkpoint)) {
  Config config = load_config_safely(arguments.path, checkpoint_, &dropped_);
  apply_overrides(config, arguments.overrides);
  check_config(config, arguments.path, purpose, program, model);
}

RunConfig::RunConfig(const std::string& checkpoint, const RunProgram& program)
    : checkpoint_(checkpoint) {
  const std::string file = (std::filesystem::path(checkpoint) / "config.yaml").string();
  const Config config = load_config_safely(file, checkpoint, &dropped_);
  check_config(language_model_config(config, checkpoint), file, RunPurpose::kPlan, program,
               ModelCheck::kNow);
}

void RunConfig::check_config(const Config& config, const std::string& file, RunPurpose purpose,
                             const RunProgram& program, ModelCheck model) {
  Findings found;
  open_host(config, file, program, found);
  host_->install(registries_);
  check_ = resolve_run_config(config);
  translate();
  check_run_config(check_, schema(purpose, program));
  try_parts(purpose, model);
  if (purpose == RunPurpose::kTrain && check_.findings.empty()) {
    warn_of_saves(check_.written, check_.notes);
  }
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

/// Translates the keys of other frameworks.
void RunConfig::translate() {
  Config& config = check_.config;
  ConfigTranslation translation(config, check_.findings, check_.notes, &registries_);
  name_data_of_model(registries_, config);
  interop::translate_config(translation);
  Config* const model = config.find("model");
  Config* const encoder = model == nullptr || !model->is_map() ? nullptr : model->find("encoder");
  if (encoder != nullptr) translate_part(registries_, *encoder, "model.encoder", check_.findings);
}

/// Builds the parts without findings, because valid options may contradict each other.
void RunConfig::try_parts(RunPurpose purpose, ModelCheck model) {
  const bool is_own = checkpoint_.empty() && purpose == RunPurpose::kTrain;
  const std::string checkpoint = is_own ? checkpoint_of_run(check_.written) : checkpoint_;
  const bool is_clean = check_.findings.empty();
  for (const std::string& kind : check_.buildable) {
    try {
      if (kind == "model" && is_run_folder(check_.written, checkpoint)) {
        check_run_folder(checkpoint, check_.written);
      }
      const bool is_later = kind == "model" && model == ModelCheck::kLater && is_clean;
      if (!is_later) try_build(registries_, kind, check_.written, checkpoint);
    } catch (const Error& error) {
      if (!is_left_out(purpose, kind, error)) check_.findings.add(error);
    }
  }
  sort_findings(check_.findings);
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
  schema.blocks["data"] = data_block(registries_, check_.config);
  schema.kinds = kind_names();
  schema.component = [this](const std::string& kind, const std::string& name,
                            const Config& name_node, const std::string& name_path) {
    return component_table(registries_, kind, name, name_node, name_path);
  };
  schema.advice = interop::advised_keys();
  if (program.add_blocks) program.add_blocks(schema.blocks);
  return schema;
}

}  // namespace s2s::run
