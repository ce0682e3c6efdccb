#include "loader/cuts_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/accelerator.h"
#include "duplex/batch_tensors.h"
#include "loader/loader_errors.h"
#include "loader/set_check.h"

namespace s2s::data {
namespace {

/// Maximum number of turns whose texts are collected for a language model.
constexpr size_t kMaxTexts = 200000;

const Tokenizer& tokenizer_of(const DataContext& context) {
  if (context.tokenizer == nullptr) throw loader_errors::no_tokenizer(context.path);
  return *context.tokenizer;
}

std::string where(const DataContext& context) {
  if (context.data_size == 1) return context.path;
  return fmt::format("{}: data rank {}", context.path, context.data_rank);
}

/// Kept codes take the place of the agent's audio. Errors: [data/options] for a source whose rows
/// have none.
BatchSpec spec_of(BatchSpec spec, const std::string& path, const RowKind* kind) {
  if (spec.codes_field.empty()) return spec;
  if (kind != nullptr) {
    throw loader_errors::options(path,
                                 "codes_field, but the rows of this data source have no codes",
                                 "it in sets of the data source cuts; remove it");
  }
  spec.data.agent_audio = false;
  return spec;
}

std::string hex(uint64_t number) { return fmt::format("{:016x}", number); }

/// Returns the first row of a batch without its padding.
Batch first_row(const Batch& batch) {
  Batch row;
  for (const BatchTensor& tensor : kBatchTensors) {
    if (tensor.lengths_B == nullptr || !(batch.*tensor.rows).defined()) continue;
    const at::Tensor& lengths_B = batch.*tensor.lengths_B;
    row.*tensor.rows =
        (batch.*tensor.rows).narrow(0, 0, 1).narrow(-1, 0, lengths_B[0].item<int64_t>()).clone();
    row.*tensor.lengths_B = lengths_B.narrow(0, 0, 1).clone();
  }
  for (const auto& [name, tensor] : batch.others) row.others[name] = tensor.narrow(0, 0, 1).clone();
  row.ids = {batch.ids.front()};
  row.target_texts = {batch.target_texts.front()};
  row.turns = {batch.turns.front()};
  return row;
}

}  // namespace

CutsSource::CutsSource(const CutsSourceOptions& options, const BatchSpec& spec,
                       const DataContext& context, SourceParts parts)
    : options_(options),
      spec_(spec_of(spec, context.path, parts.kind.get())),
      context_{context, options.repeat},
      tokenizer_(tokenizer_of(context)),
      axis_{context.data_rank, context.data_size},
      entropy_(context.entropy),
      bad_cuts_(options.skip_bad, where(context)),
      unread_(options.skip_bad, where(context)),
      parts_(std::move(parts)) {
  context_.draw_entropy = [this] {
    uses_entropy_ = true;
    return entropy_;
  };
  if (bad_cuts_.are_allowed()) {
    context_.on_bad = [this](const Error& error) { unread_.add(error); };
  }
  open();
  // An endless set is one for training.
  if (spec.data.augmentation.any() && options.repeat && !parts_.kind) {
    DuplexDataOptions data = spec.data;
    data.agent_audio |= !spec.codes_field.empty();  // the agent's voice must stay as it is
    augmenter_ = std::make_unique<BatchAugmenter>(data, context, tokenizer_.special_ids());
  }
  loader_ = std::make_unique<RowLoader>(
      RowLoader::Rules{spec_, context.path, options.allow_no_turns, bad_cuts_.are_allowed(),
                       options.longest_cut, parts_.kind.get(), augmenter_.get()},
      tokenizer_, *parts_.audio);
  check();
}

void CutsSource::open() {
  batches_ = parts_.open(context_);
  unread_at_open_ = unread_.take();
}

void CutsSource::check() {
  if (parts_.kind) {  // a RowKind checks its cuts when it loads them
    bad_cuts_.add(unread_at_open_, context_.warn);
    return;
  }
  const SetCheck rules{context_.path,
                       spec_,
                       tokenizer_,
                       options_.allow_no_turns,
                       options_.longest_cut,
                       options_.check_files,
                       options_.skip_bad,
                       context_.warn,
                       [this] { return unread_.take(); }};
  bad_cuts_.add(unread_at_open_, context_.warn);
  if (check_set(*batches_, rules) == kCheckedCuts) return;
  batches_->next();  // throws when a small set does not make a batch
  batches_->restore("");
  // The files that were opened now are not opened again, so keep what was found in them.
  for (BadCut& bad : unread_.take()) unread_at_open_.push_back(std::move(bad));
  bad_cuts_.add(unread_at_open_, context_.warn);
}

LoadingPool& CutsSource::pool() {
  if (!pool_) {
    order_ = std::make_unique<BatchOrder>(*batches_, unread_, axis_, from_, position_);
    const PoolOptions options{options_.num_workers, options_.prefetch_batches,
                              bad_cuts_.are_allowed(),
                              options_.pin_memory && opened_accelerator().has_value()};
    pool_ = std::make_unique<LoadingPool>(*order_, *batches_, *loader_, options);
  }
  return *pool_;
}

std::optional<LoadedBatch> CutsSource::pull() {
  std::optional<LoadedBatch> loaded = pool().take();
  bad_cuts_.add(loaded ? loaded->bad : order_->take_rest(), context_.warn);
  return loaded;
}

/// Replaces a batch of which no row is left. It cannot be left out, because all ranks take their
/// steps together. The replacement is the first row of this rank's next batch that has one,
/// independent of what was read before.
Batch CutsSource::replacement() {
  for (size_t i = 0;; ++i) {
    if (i == held_.size()) {
      std::optional<LoadedBatch> ahead = pull();
      if (!ahead) throw loader_errors::no_good_cut(context_.path);
      held_.push_back(std::move(*ahead));
    }
    if (!held_[i].batch) continue;
    return parts_.kind ? parts_.kind->first_row(*held_[i].batch) : first_row(*held_[i].batch);
  }
}

std::optional<Batch> CutsSource::next() {
  for (;;) {
    std::optional<LoadedBatch> loaded;
    if (held_.empty()) {
      loaded = pull();
    } else {
      loaded = std::move(held_.front());
      held_.pop_front();
    }
    if (!loaded) {
      /// Other ranks had a batch.
      if (position_ < order_->end().value_or(0)) position_ += axis_.size;
      return std::nullopt;
    }
    position_ += axis_.size;
    epoch_ = loaded->round_epoch;
    order_->forget_before(position_ - axis_.size);
    if (loaded->batch) return std::move(loaded->batch);
    if (options_.repeat) return replacement();
  }
}

Snapshot CutsSource::snapshot() const {
  if (!order_) return from_;
  return order_->snapshot_before(std::max(position_ - axis_.size, from_.at));
}

std::string CutsSource::state() const {
  SourceState state;
  state.batches = position_;
  state.epoch = epoch_;
  state.data_size = axis_.size;
  state.order = hex(batches_->fingerprint());
  state.from = snapshot();
  state.restarts = restarts_;
  if (uses_entropy_) state.entropy = entropy_;
  state.left_out = bad_cuts_.listed();
  return to_text(state);
}

void CutsSource::go_to(Snapshot from, int64_t begin) {
  pool_.reset();
  order_.reset();
  held_.clear();
  from_ = std::move(from);
  position_ = begin;
}

/// Opens the set with the seeds and the number of ranks that it had when the state was written.
void CutsSource::reopen_for(const SourceState& state) {
  const bool same_entropy = !state.entropy || *state.entropy == entropy_;
  if (state.entropy) entropy_ = *state.entropy;
  const bool same_ranks = state.data_size == context_.data_size;
  if (same_entropy && same_ranks && state.restarts == restarts_) return;
  context_.data_size = state.data_size;
  restarts_ = state.restarts;
  // Lhotse adds the epoch to a seed, so a restart shifts seeds by more than any number of epochs.
  context_.seed_shift = static_cast<uint64_t>(restarts_) * 1000003;
  open();
}

/// Continues with another number of ranks. The batches after a snapshot may depend on this number
/// (all ranks use the same bucket). The batches that were already given are planned for the old
/// number and skipped; the batches after them are planned for the new number.
Snapshot CutsSource::plan_for_new_ranks(const SourceState& state) {
  batches_->restore(state.from.state);
  for (int64_t i = state.from.at; i < state.batches; ++i) {
    batches_->next();
    if (i <= state.batches - state.data_size) unread_.take();  // rank 0 has reported them
  }
  Snapshot exact{state.batches, batches_->state()};
  context_.data_size = axis_.size;
  open();
  return exact;
}

void CutsSource::restore(const std::string& text) {
  go_to({}, 0);
  SourceState state;
  state.data_size = axis_.size;
  if (!text.empty()) state = parse_state(text, context_.path);
  const bool reshuffles = !text.empty() && options_.on_restart == "reshuffle";
  if (reshuffles) {
    ++state.restarts;
    state.entropy.reset();
  }
  reopen_for(state);
  epoch_ = state.epoch;
  if (axis_.rank > 0) state.left_out.clear();  // a checkpoint has the list of rank 0
  bad_cuts_.restore(std::move(state.left_out));
  const bool same = text.empty() || state.order == hex(batches_->fingerprint());
  if (!same && !reshuffles && !options_.allow_changed_data) {
    throw loader_errors::changed_data(context_.path);
  }
  if (same && !reshuffles) {
    if (state.data_size != axis_.size) state.from = plan_for_new_ranks(state);
    batches_->restore(state.from.state);
    go_to(std::move(state.from), state.batches);
  } else {
    if (context_.data_size != axis_.size) {
      context_.data_size = axis_.size;
      open();
    }
    batches_->begin_epoch(state.epoch);
    go_to({state.batches, batches_->state()}, state.batches);
  }
  bad_cuts_.add(unread_at_open_);
}

std::vector<std::string> CutsSource::texts() {
  std::vector<std::string> texts;
  const std::vector<std::string>& roles = spec_.data.output_roles;
  batches_->visit_cuts([&](const Cut& cut) {
    for (const Supervision& turn : cut.supervisions) {
      const bool is_agent = std::find(roles.begin(), roles.end(), turn.speaker) != roles.end();
      if (is_agent && turn.text) texts.push_back(clean_text(*turn.text));
    }
    return texts.size() < kMaxTexts;
  });
  unread_.take();  // they are reported with their batches
  return texts;
}

}  // namespace s2s::data
