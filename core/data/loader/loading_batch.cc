#include "loader/loading_batch.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace s2s::data {
namespace {

/// Makes the first cut, which says how long the row is. If it cannot be made, loading the row fails
/// with the reason.
void make_first_cut(BatchRow& row, const CutBatches& batches) {
  BatchedCut& first = row.cuts.front();
  if (first.cut || row.num_frames > 0) return;
  try {
    first.cut = batches.make(first.key);
  } catch (const Error&) {
  }
}

}  // namespace

AudioRows::AudioRows(std::vector<int64_t> lengths, BatchMemory& memory)
    : lengths_(std::move(lengths)),
      audio_BS_(memory.take(static_cast<int64_t>(lengths_.size()),
                            *std::max_element(lengths_.begin(), lengths_.end()))) {}

bool AudioRows::put(size_t row, const at::Tensor& samples_S) const {
  const int64_t length = lengths_[row];
  if (samples_S.size(0) != length) return false;
  const at::Tensor to_S = audio_BS_.select(0, static_cast<int64_t>(row));
  to_S.narrow(0, 0, length).copy_(samples_S);
  to_S.narrow(0, length, to_S.size(0) - length).zero_();
  return true;
}

at::Tensor AudioRows::row(size_t row) const {
  return audio_BS_.select(0, static_cast<int64_t>(row)).narrow(0, 0, lengths_[row]);
}

at::Tensor AudioRows::lengths_B() const { return at::tensor(lengths_, at::kLong); }

LoadingBatch::LoadingBatch(PlannedBatch planned, const RowSources& sources)
    : plan_(std::move(planned)),
      sources_(sources),
      rows_(plan_.cuts.rows.size()),
      is_in_place_(rows_.size(), 0) {
  for (BatchRow& row : plan_.cuts.rows) make_first_cut(row, sources.batches);
}

void LoadingBatch::load(size_t row) {
  LoadResult result = sources_.loader.load(plan_.cuts.rows[row], sources_.batches);
  if (result.row) place(row, *result.row);
  rows_[row] = std::move(result);
}

void LoadingBatch::place(size_t row, LoadedRow& loaded) {
  std::call_once(has_audio_, [this] {
    std::vector<int64_t> source_lengths, target_lengths;
    for (const BatchRow& planned : plan_.cuts.rows) {
      const RowLengths lengths = sources_.loader.lengths(planned);
      source_lengths.push_back(lengths.source);
      target_lengths.push_back(lengths.target);
    }
    source_audio_.emplace(std::move(source_lengths), sources_.memory);
    target_audio_.emplace(std::move(target_lengths), sources_.memory);
  });
  if (!source_audio_->put(row, loaded.source_S) || !target_audio_->put(row, loaded.target_S)) {
    return;
  }
  is_in_place_[row] = 1;
  loaded.source_S = source_audio_->row(row);
  loaded.target_S = target_audio_->row(row);
}

/// `is_in_place`: the audio of all rows is already at its final position.
Batch LoadingBatch::collated(std::vector<LoadedRow> rows, bool is_in_place) const {
  if (!is_in_place) return collate_rows(std::move(rows), sources_.loader.pad());
  for (LoadedRow& row : rows) row.source_S = row.target_S = at::empty({0}, at::kFloat);
  Batch batch = collate_rows(std::move(rows), sources_.loader.pad());
  batch.source_audio_BS = source_audio_->audio_BS();
  batch.source_audio_lens_B = source_audio_->lengths_B();
  batch.target_audio_BS = target_audio_->audio_BS();
  batch.target_audio_lens_B = target_audio_->lengths_B();
  return batch;
}

/// For batches of a RowKind.
LoadedBatch LoadingBatch::finish_contents(LoadedBatch loaded, bool leave_out) const {
  std::vector<const RowContent*> good;
  for (const LoadResult& row : rows_) {
    if (row.content) good.push_back(row.content.get());
  }
  if (good.empty() || (!loaded.bad.empty() && !leave_out)) return loaded;
  loaded.batch = sources_.loader.kind()->collate(good);
  return loaded;
}

LoadedBatch LoadingBatch::finish(bool leave_out) {
  LoadedBatch loaded;
  loaded.round_epoch = plan_.round_epoch;
  loaded.bad = std::move(plan_.bad);
  std::vector<LoadedRow> good;
  for (LoadResult& row : rows_) {
    std::move(row.bad.begin(), row.bad.end(), std::back_inserter(loaded.bad));
    if (row.row) good.push_back(std::move(*row.row));
  }
  if (sources_.loader.kind() != nullptr) return finish_contents(std::move(loaded), leave_out);
  if (good.empty() || (!loaded.bad.empty() && !leave_out)) return loaded;
  const bool is_whole = std::all_of(is_in_place_.begin(), is_in_place_.end(),
                                    [](char is_in_place) { return is_in_place != 0; });
  const std::string task = good.front().text.task;
  loaded.batch = collated(std::move(good), is_whole);
  if (const BatchAugmenter* const augmenter = sources_.loader.augmenter()) {
    augmenter->apply(*loaded.batch, {plan_.index, task});
  }
  return loaded;
}

}  // namespace s2s::data
