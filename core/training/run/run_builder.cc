#include "run/run_builder.h"

#include <ATen/ATen.h>
#include <ATen/DeviceAccelerator.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "base/accelerator.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_copies.h"
#include "config/config_errors.h"
#include "config/distrusted_files.h"
#include "nn/lora.h"
#include "nn/operators.h"
#include "provenance/logged_options.h"
#include "run/numerics.h"
#include "run/pretrained_parts.h"
#include "run/unknown_text.h"
#include "s2s/nn/weights.h"
#include "train/train_errors.h"

namespace s2s {

at::Device choose_device(const std::string& place, const std::string& accelerator,
                         Warnings& warnings) {
  if (accelerator == "cpu") return at::kCPU;
  if (accelerator != "auto" && accelerator != "gpu" && accelerator != "cuda") {
    throw_accelerator(place, accelerator, "not known");
  }
  std::string why;
  if (const auto type = open_accelerator(why)) return {*type, 0};
  if (accelerator != "auto") throw_accelerator(place, accelerator, why);
  if (has_accelerator_driver()) {
    warnings.add("the run uses the CPU, although this machine has a GPU's driver: " + why);
  }
  return at::kCPU;
}

namespace {

AdaptedPart part_with_lora(Model& model) {
  AdaptedPart part = adapted_part(model);
  if (part.root == nullptr) throw_no_language_model();
  return part;
}

/// The schedule without model.lr_scheduler: the optimizer's rate at all steps.
class ConstantRate : public Schedule {
 public:
  double learning_rate(int64_t, double base_learning_rate) const override {
    return base_learning_rate;
  }
};

}  // namespace

RunBuilder::RunBuilder(const Config& config, const Registries& registries, Warnings& warnings,
                       std::vector<std::string> own_metrics)
    : config_(config),
      registries_(registries),
      warnings_(warnings),
      settings_(read_run_options(config)),
      precision_(parse_precision(settings_.trainer.precision,
                                 node_at(config, "trainer.precision").origin().text())),
      device_(choose_device("trainer.accelerator", settings_.trainer.accelerator, warnings)),
      entropy_(std::random_device()()),
      own_metrics_(std::move(own_metrics)),
      codec_of_codes_(std::make_shared<run::CodecOfCodes>(config, registries)) {
  set_numerics(settings_.trainer);
  warn_of_slow_precision(precision_, device_, warnings);
  kernels_ = make_device_kernels(device_.type(), context("trainer.accelerator"));
}

void RunBuilder::join(const ProcessPlace& process, Communicator& world) {
  process_ = &process;
  world_ = &world;
  // A launcher may show each process only its own GPU.
  if (!device_.is_cpu() && at::accelerator::deviceCount() > 1) {
    device_ = {device_.type(), static_cast<at::DeviceIndex>(process.local_rank)};
  }
}

void RunBuilder::keep_global_batch(int64_t num_ranks) {
  TrainerBlock& trainer = settings_.trainer;
  if (!trainer.elastic_ranks || *trainer.elastic_ranks == num_ranks) return;
  const int64_t wanted = trainer.accumulate_grad_batches * *trainer.elastic_ranks;
  trainer.accumulate_grad_batches = std::max<int64_t>(1, (wanted + num_ranks / 2) / num_ranks);
  const int64_t found = trainer.accumulate_grad_batches * num_ranks;
  if (found == wanted) return;
  warnings_.add(fmt::format(
      "[run/global-batch] {} micro-batches of a step cannot be divided among {} rank{}: a step has "
      "{} now\n  next:      start a number of ranks that divides {} if the batch has to stay the "
      "same",
      wanted, num_ranks, num_ranks == 1 ? "" : "s", found, wanted));
}

BuildContext RunBuilder::context(const std::string& path) const {
  BuildContext context;
  context.registries = &registries_;
  context.path = path;
  context.warn = [warnings = &warnings_](const std::string& message) { warnings->add(message); };
  return context;
}

DataContext RunBuilder::data_context(const std::string& path, const Tokenizer* tokenizer,
                                     const DataShare& share) const {
  return {context(path), &node_at(config_, "data"),
          tokenizer,     static_cast<uint64_t>(settings_.trainer.seed),
          entropy_,      share.rank,
          share.size};
}

std::unique_ptr<Tokenizer> RunBuilder::tokenizer(const std::string& checkpoint) const {
  const Config config = with_checkpoint_copies(config_, checkpoint);
  Config node = node_at(config, "model.tokenizer");
  if (node.entries().empty()) return nullptr;
  if (process_ != nullptr && process_->rank > 0) node.erase("train");  // rank 0 has created it
  const Config* const train = node.find("train");
  // Training a tokenizer writes a file.
  if (train != nullptr && is_distrusted(train->origin())) node.erase("train");
  if (!checkpoint.empty()) require_checkpoint(checkpoint);
  return registries_.create<Tokenizer>(node, context("model.tokenizer"));
}

std::unique_ptr<Model> RunBuilder::meta_model(const Tokenizer* tokenizer,
                                              const std::string& checkpoint) const {
  const Config config = with_checkpoint_copies(config_, checkpoint);
  auto model = registries_.create<Model>(model_component(config),
                                         {context("model"), &node_at(config_, "data"), tokenizer});
  if (settings_.model.lora.r > 0) {
    for (const std::string& target : add_lora(*part_with_lora(*model).root, settings_.model.lora)) {
      warnings_.add("model.lora.target_modules: '" + target + "' matches no linear layer");
    }
  }
  return model;
}

std::unique_ptr<Model> RunBuilder::model(const Tokenizer* tokenizer,
                                         const std::string& checkpoint) const {
  std::unique_ptr<Model> model = meta_model(tokenizer, checkpoint);
  initial_values(*model, checkpoint)->fill(model->named_parameters());
  return model;
}

std::unique_ptr<InitialValues> RunBuilder::initial_values(Model& model,
                                                          const std::string& checkpoint) const {
  using From = InitialValuesSettings::From;
  const From pretrained = settings_.model.pretrained_weights ? From::kFiles : From::kInit;
  auto values = std::make_unique<InitialValues>(
      model, InitialValuesSettings{device_, precision_.parameter_type,
                                   static_cast<uint64_t>(settings_.trainer.seed),
                                   checkpoint.empty() ? pretrained : From::kNowhere});
  if (!checkpoint.empty()) require_room_in(checkpoint, model);
  if (auto* const speaking = find_capability<HasCodec>(model)) {
    speaking->codec().to(device_, at::kFloat);  // independent of the precision
  }
  if (!checkpoint.empty()) return values;
  add_pretrained_parts(model, *values);
  const LoraOptions& lora = settings_.model.lora;
  if (lora.r > 0 && lora.path) {
    const AdaptedPart part = part_with_lora(model);
    values->add(stored_adapter(resolve_path(*lora.path, "."), *part.root, part.names, lora));
  }
  return values;
}

void RunBuilder::add_pretrained_parts(Model& model, InitialValues& values) const {
  const at::NoGradGuard no_grad;
  for (auto& part : pretrained_parts(model, settings_.model, config_, warnings_)) {
    const std::vector<const at::Tensor*> members = part->members();
    // Buffers already have memory and values.
    for (const NamedTensor& buffer : model.named_buffers()) {
      const bool is_stored = std::count(members.begin(), members.end(), buffer.tensor) != 0;
      if (is_stored) part->write(buffer.tensor, *buffer.tensor);
    }
    values.add(std::move(part));
  }
}

std::unique_ptr<ParallelStrategy> RunBuilder::strategy() const {
  return registries_.create<ParallelStrategy>(node_at(config_, "trainer.strategy"),
                                              {context("trainer.strategy"), process_, world_});
}

std::unique_ptr<Optimizer> RunBuilder::optimizer() const {
  Config node = optimizer_component(config_);
  // A key of the model's block in NeMo.
  const Config* excluded = config_.find_path("model.exclude_norm_from_wd");
  if (excluded != nullptr && excluded->as_bool("model.exclude_norm_from_wd")) {
    node["exclude_norm_from_wd"] = *excluded;
  }
  return registries_.create<Optimizer>(node, context("model.optimizer"));
}

std::unique_ptr<Schedule> RunBuilder::schedule() const {
  const Config* const node = config_.find_path("model.lr_scheduler");
  if (node == nullptr || node->is_null()) return std::make_unique<ConstantRate>();
  return registries_.create<Schedule>(node_at(config_, "model.lr_scheduler"),
                                      context("model.lr_scheduler"));
}

std::unique_ptr<DataSource> RunBuilder::train_source(const Tokenizer* tokenizer,
                                                     const ParallelStrategy& strategy) const {
  const Config& node = node_at(config_, "data.train_ds");
  if (node.entries().empty()) throw no_datasets_error("data.train_ds");
  const DataShare share = {strategy.data_rank(), strategy.mesh().data_size()};
  return run::telling_unknown_text(
      run::checking_codes(
          registries_.create<DataSource>(node, data_context("data.train_ds", tokenizer, share)),
          node, "data.train_ds", codec_of_codes_),
      tokenizer, [&warnings = warnings_](const std::string& message) { warnings.add(message); });
}

std::unique_ptr<DataSource> RunBuilder::all_train_data(const Tokenizer* tokenizer,
                                                       bool with_audio) const {
  Config node = node_at(config_, "data.train_ds");
  if (node.entries().empty()) return nullptr;
  if (with_audio) node.erase("codes_field");
  return registries_.create<DataSource>(node, data_context("data.train_ds", tokenizer, {}));
}

std::vector<NamedMetric> RunBuilder::metrics() const {
  const auto metric_of = [this](const std::string& name, const Config& node, bool is_listed) {
    return named_metric(node.find("name")->text(), name, is_listed, [this, node] {
      return registries_.create<Metric>(node, context("model.metrics"));
    });
  };
  // One that needs an option is computed where it is listed.
  const auto needs_options = [this](const std::string& name, const Config& node) {
    const auto list_options = registries_.get<Metric>(name, node, "model.metrics").options;
    const OptionTable options = list_options == nullptr ? OptionTable() : list_options();
    return std::any_of(options.begin(), options.end(),
                       [](const OptionRow& row) { return row.bounds.required; });
  };
  const auto listed = metric_components(settings_.model.metrics);
  std::vector<NamedMetric> metrics;
  for (const std::string& own : own_metrics_) {
    const bool is_listed = std::any_of(listed.begin(), listed.end(),
                                       [&](const auto& named) { return named.first == own; });
    Config node = Config::map();
    node["name"] = Config::scalar(own);
    if (is_listed || needs_options(own, node)) continue;
    metrics.push_back(metric_of(own, node, false));
  }
  for (const auto& [name, node] : listed) metrics.push_back(metric_of(name, node, true));
  return metrics;
}

std::vector<NamedLogger> RunBuilder::loggers() const {
  const Config node = run::logged_loggers(config_);
  std::vector<Config> components = node.is_list() ? node.items() : std::vector<Config>();
  if (node.is_map() && !node.entries().empty()) components.push_back(node);
  std::vector<NamedLogger> loggers;
  for (const Config& component : components) {
    loggers.push_back({component.find("name")->text(),
                       registries_.create<RunLogger>(component, context("exp_manager.loggers"))});
  }
  return loggers;
}

std::unique_ptr<Scorer> RunBuilder::scorer() const {
  const Config& node = node_at(config_, "model.scoring_asr");
  if (node.entries().empty()) return nullptr;
  return registries_.create<Scorer>(node, {context("model.scoring_asr"), device()});
}

std::map<std::string, ShareFactory> RunBuilder::validation_sources(
    const Tokenizer* tokenizer) const {
  using Kept = std::map<std::pair<int64_t, int64_t>, std::shared_ptr<DataSource>>;
  std::map<std::string, ShareFactory> sources;
  for (const auto& [name, options] : settings_.validation_sets) {
    const std::string path = "data.validation_ds.datasets." + name;
    const auto kept = std::make_shared<Kept>();
    sources[name] = [this, path, tokenizer, options = options, kept](const DataShare& share) {
      std::shared_ptr<DataSource>& source = (*kept)[{share.rank, share.size}];
      if (source && source.use_count() == 1) {  // no validation uses it
        source->restore("");
      } else {
        source = run::checking_codes(
            registries_.create<DataSource>(options, data_context(path, tokenizer, share)), options,
            path, codec_of_codes_);
      }
      return source;
    };
  }
  return sources;
}

}  // namespace s2s
