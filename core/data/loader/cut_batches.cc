#include "loader/cut_batches.h"

#include <fmt/format.h>

#include <utility>

#include "base/fnv.h"
#include "base/foreign_json.h"
#include "loader/augment_batches.h"
#include "loader/change_cuts.h"
#include "loader/codes_options.h"
#include "loader/loader_errors.h"
#include "loader/open_sampler.h"
#include "loader/state_text.h"
#include "streams/input_source.h"
#include "streams/input_stream.h"

namespace s2s::data {
namespace {

/// A block, or one set of a `multi_config` block.
struct LoaderSet {
  DatasetScope scope;
  InputNode input;
};

/// Options of sources. In a set they have no effect, because those of the block apply.
std::vector<std::string> names_of_source_options() {
  std::vector<std::string> names;
  for (const OptionRow& row : list_options<CutsSourceOptions>()) names.push_back(row.name);
  return names;
}

class Reader {
 public:
  Reader(const DatasetBlock& block, const CutBatchesContext& context)
      : block_(block.config),
        has_kept_codes_(block.options.source.codes_field.has_value()),
        context_(context),
        seeds_(context),
        findings_(block.findings) {
    top_ = scope_of(block.options.batches, context.path);
  }

  std::vector<LoaderSet> read() {
    const std::vector<std::string> names = names_of_sets(block_);
    std::vector<LoaderSet> sets;
    if (!top_.options.multi_config) {
      sets.push_back({top_, read_input(block_, top_)});
      check_batches(top_, findings_);
    }
    for (const std::string& name : names) sets.push_back(read_set(name));
    if (top_.options.multi_config && names.empty()) {
      findings_.add(loader_errors::options(
          context_.path, "multi_config without a set",
          "keys whose values are maps, each a data set with options of its own"));
    }
    if (has_kept_codes_) {
      check_codes_options(top_, findings_);
      for (const LoaderSet& set : sets) check_codes_options(set.scope, findings_);
    }
    findings_.throw_if_any();
    return sets;
  }

  const DatasetScope& top() const { return top_; }

 private:
  DatasetScope scope_of(const CutBatchesOptions& options, const std::string& path) {
    DatasetScope scope{&context_, path, options};
    set_seeds(scope);
    const CutBatchesOptions& o = scope.options;
    scope.is_finite = o.force_finite || o.metadata_only || !context_.allow_infinite;
    if (context_.warn) {
      for (const std::string& note : option_notes(o, path)) context_.warn(note);
    }
    return scope;
  }

  void set_seeds(DatasetScope& scope) {
    try {
      const CutBatchesOptions& o = scope.options;
      scope.seed = seeds_.read(o.seed, scope.path + ".seed", seeds_.run_seed());
      scope.shard_seed = seeds_.read(o.shard_seed, scope.path + ".shard_seed", scope.seed);
    } catch (const Error& error) {
      findings_.add(error);
    }
  }

  InputNode read_input(const Config& block, const DatasetScope& scope) {
    InputContext input;
    input.path = scope.path;
    input.base_dir = context_.base_dir;
    input.attributes = input_attributes(scope);
    input.reweight_temperature = scope.options.reweight_temperature;
    input.seed = [this, &scope](const Config& node, const std::string& path) {
      return seeds_.read(node, path, scope.shard_seed);
    };
    return parse_input(block, input, findings_);
  }

  /// Reads a set. Options that NeMo shares among sets are taken from the block.
  LoaderSet read_set(const std::string& name) {
    const std::string path = context_.path + "." + name;
    const Config& own = *block_.find(name);
    CutBatchesOptions options;
    OptionReader(own, path, findings_, names_of_source_options()).read(options);
    DatasetScope scope = scope_of(options, path);
    scope.seed = top_.seed;
    scope.shard_seed = top_.shard_seed;
    CutBatchesOptions& o = scope.options;
    o.shuffle = top_.options.shuffle;
    o.metadata_only = top_.options.metadata_only;
    o.force_finite = top_.options.force_finite;
    scope.is_finite = top_.is_finite;
    if (o.concatenate.max_duration > 0 || o.multi_config) {
      findings_.add(loader_errors::options(path,
                                           o.multi_config ? "multi_config inside of multi_config"
                                                          : "concatenate in a set of "
                                                            "multi_config",
                                           "it on the block itself"));
    }
    InputNode input = read_input(own, scope);
    check_batches(scope, findings_);
    return {std::move(scope), std::move(input)};
  }

  const Config& block_;
  bool has_kept_codes_;
  const CutBatchesContext& context_;
  SeedReader seeds_;
  Findings findings_;
  DatasetScope top_;
};

StreamPtr changed_stream(const LoaderSet& set, const InputNode& input) {
  return change_cuts([&input] { return open_input_tree(input); }, set.scope);
}

SamplerPtr sampler_of(const LoaderSet& set) {
  return change_batches(open_sampler(changed_stream(set, set.input), set.scope), set.scope);
}

std::vector<double> fusion_weights(const DatasetScope& top, const std::vector<LoaderSet>& sets) {
  std::vector<double> weights;
  const Config& node = top.options.sampler_weights;
  if (node.is_null()) return weights;
  for (const LoaderSet& set : sets) {
    const std::string name = set.scope.path.substr(top.path.size() + 1);
    const Config* weight = node.find(name);
    if (weight == nullptr) {
      throw loader_errors::options(top.path + ".sampler_weights", "no weight for " + name,
                                   "one for each set");
    }
    weights.push_back(weight->as_double(top.path + ".sampler_weights." + name));
  }
  return weights;
}

SamplerPtr fused_sampler(const DatasetScope& top, const std::vector<LoaderSet>& sets) {
  if (!top.options.multi_config) return sampler_of(sets.front());
  std::vector<SamplerPtr> samplers;
  for (const LoaderSet& set : sets) samplers.push_back(sampler_of(set));
  if (top.options.sampler_fusion == "zip") return zip_sampler(std::move(samplers));
  RoundRobinOptions options;
  options.num_ranks = top.context->data_size;
  if (top.options.sampler_fusion == "randomized_round_robin") {
    options.randomize = true;
    options.weights = fusion_weights(top, sets);
    options.seed = top.seed;
  }
  return round_robin_sampler(std::move(samplers), options);
}

class LoaderBatches : public CutBatches {
 public:
  LoaderBatches(const DatasetBlock& block, const CutBatchesContext& context)
      : context_(context), reader_(block, context_), sets_(reader_.read()) {
    sampler_ = fused_sampler(reader_.top(), sets_);
    is_packed_ = reader_.top().options.concatenate.max_duration > 0;
    if (is_packed_) unpacked_ = changed_stream(sets_.front(), sets_.front().input);
    repeats_ = context_.allow_infinite && !reader_.top().options.metadata_only;
    begin_epoch(0);
  }

  std::optional<BatchOfCuts> next() override {
    if (!is_checked_) check_sets();
    for (;;) {
      std::optional<SampledBatch> sampled = at_end_ ? std::nullopt : sampler_->next();
      if (sampled) {
        is_empty_ = false;
        return batch_of(std::move(*sampled));
      }
      if (is_empty_ && !at_end_) {
        throw loader_errors::no_batches(context_.path, sampler_->counts().discarded_cuts);
      }
      at_end_ = at_end_ || !repeats_;
      if (at_end_) return std::nullopt;
      begin_epoch(epoch_ + 1);
    }
  }

  std::string state() const override {
    StreamState state = {{"version", 1}, {"epoch", epoch_}, {"end", at_end_}, {"any", !is_empty_}};
    if (!at_end_) state["sampler"] = sampler_->state();
    return packed_state(state.dump());
  }

  void restore(const std::string& text) override {
    if (text.empty()) return begin_epoch(0);
    try {
      const std::string json = unpacked_state(text, context_.path);
      // The state is nested once per group of groups; buffers of cuts are lists of short numbers.
      constexpr JsonLimit kState{.any_values = 200'000, .bytes_per_value = 2, .depth = 1024};
      const auto state = parse_foreign_json<StreamState>(json, kState);
      if (state.at("version").get<int>() != 1) {
        throw loader_errors::bad_state(context_.path, "it is of another version");
      }
      is_checked_ = true;
      epoch_ = state.at("epoch").get<int64_t>();
      at_end_ = state.at("end").get<bool>();
      is_empty_ = !state.at("any").get<bool>();
      if (!at_end_) sampler_->restore(state.at("sampler"));
    } catch (const nlohmann::json::exception& error) {
      throw loader_errors::bad_state(context_.path, error.what());
    }
  }

  void begin_epoch(int64_t epoch) override {
    epoch_ = epoch;
    at_end_ = false;
    is_empty_ = true;
    sampler_->rewind(epoch);
  }

  int64_t epoch() const override { return epoch_; }

  uint64_t fingerprint() const override {
    return fnv1a(fmt::format("batches {} {}", repeats_, is_packed_),
                 kFnvStart ^ sampler_->fingerprint());
  }

  std::shared_ptr<const Cut> make(const std::vector<int64_t>& key) const override {
    // The parts of a packed row have keys of the unpacked stream.
    return is_packed_ ? unpacked_->make(key) : sampler_->make(key);
  }

  void visit_cuts(const std::function<bool(const Cut&)>& visit) const override {
    for (const LoaderSet& set : sets_) {
      const StreamPtr stream = one_pass(set);
      while (const std::optional<CutItem> item = stream->next()) {
        if (!visit(*cut_of(*item, *stream))) return;
      }
    }
  }

 private:
  static StreamPtr one_pass(const LoaderSet& set) {
    InputNode input = set.input;
    make_finite(input);
    StreamPtr stream = changed_stream(set, input);
    stream->rewind(0);
    return stream;
  }

  /// Throws if no cut of a set passes the filters; an endless source would be searched forever.
  void check_sets() {
    is_checked_ = true;
    for (const LoaderSet& set : sets_) {
      if (!one_pass(set)->next()) throw loader_errors::no_batches(set.scope.path, 0);
    }
  }

  BatchOfCuts batch_of(SampledBatch sampled) const {
    BatchOfCuts batch;
    batch.bucket = sampled.bucket;
    batch.epoch = epoch_;
    for (CutItem& item : sampled.items) {
      if (is_packed_) {
        batch.rows.push_back(packed_row(item.key, item.cut));
        continue;
      }
      BatchRow row;
      row.cuts.push_back({std::move(item.key), std::move(item.cut), 0});
      batch.rows.push_back(std::move(row));
    }
    return batch;
  }

  CutBatchesContext context_;
  Reader reader_;
  std::vector<LoaderSet> sets_;
  SamplerPtr sampler_;
  StreamPtr unpacked_;
  bool is_packed_ = false;
  bool repeats_ = true;
  bool at_end_ = false;
  bool is_checked_ = false;
  bool is_empty_ = true;  // this pass has not given a batch yet
  int64_t epoch_ = 0;
};

}  // namespace

std::unique_ptr<CutBatches> open_cut_batches(const DatasetBlock& block,
                                             const CutBatchesContext& context) {
  return std::make_unique<LoaderBatches>(block, context);
}

std::unique_ptr<CutBatches> open_cut_batches(const Config& options,
                                             const CutBatchesContext& context) {
  return open_cut_batches(read_dataset_block(options, context.path), context);
}

}  // namespace s2s::data
