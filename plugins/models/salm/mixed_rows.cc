#include "mixed_rows.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>

#include "salm_errors.h"

namespace s2s::salm {
namespace {

constexpr int64_t kNoLabel = -100;

/// One row: sources, and the ids to predict at the same positions.
struct Row {
  std::vector<int64_t> sources, targets;
};

/// Assigns each tag the frames of the next audio.
class AudioFrames {
 public:
  AudioFrames(const std::vector<int64_t>& counts, int64_t first_source)
      : counts_(counts), next_source_(first_source) {}

  void add_next(Row& row) {
    if (used_ < static_cast<int64_t>(counts_.size())) {
      const int64_t count = counts_[static_cast<size_t>(used_)];
      for (int64_t i = 0; i < count; ++i) row.sources.push_back(next_source_ + i);
      row.targets.insert(row.targets.end(), static_cast<size_t>(count), kNoLabel);
      next_source_ += count;
    }
    ++used_;
  }
  int64_t used() const { return used_; }

 private:
  const std::vector<int64_t>& counts_;
  int64_t next_source_;
  int64_t used_ = 0;
};

Row make_row(const int64_t* ids, const bool* mask, int64_t begin, int64_t row_begin, int64_t width,
             const RowIds& special, AudioFrames& audio) {
  Row row;
  for (int64_t t = begin; t < width; ++t) {
    if (ids[t] == special.tag) {
      audio.add_next(row);
      continue;
    }
    const bool counts = mask != nullptr && mask[t] && ids[t] != special.pad;
    row.sources.push_back(row_begin + t);
    row.targets.push_back(counts ? ids[t] : kNoLabel);
  }
  return row;
}

/// The first column that is not PAD. An empty row keeps its last column, as in NeMo.
int64_t first_column(const int64_t* ids, int64_t width, int64_t pad) {
  const int64_t* const found =
      std::find_if(ids, ids + width, [pad](int64_t id) { return id != pad; });
  return std::min<int64_t>(found - ids, width - 1);
}

MixedRows padded(const std::vector<Row>& rows, int64_t zero_source, bool for_training) {
  MixedRows out;
  const int64_t cut = for_training ? 1 : 0;
  for (const Row& row : rows) {
    out.lengths.push_back(std::max<int64_t>(0, static_cast<int64_t>(row.sources.size()) - cut));
  }
  const int64_t width = *std::max_element(out.lengths.begin(), out.lengths.end());
  const auto num_rows = static_cast<int64_t>(rows.size());
  const at::TensorOptions type = at::TensorOptions(at::kLong);
  out.source_BL = at::full({num_rows, width}, zero_source, type);
  out.labels_BL = at::full({num_rows, width}, kNoLabel, type);
  for (int64_t b = 0; b < num_rows; ++b) {
    const Row& row = rows[static_cast<size_t>(b)];
    const auto length = static_cast<size_t>(out.lengths[static_cast<size_t>(b)]);
    int64_t* const sources = out.source_BL.mutable_data_ptr<int64_t>() + b * width;
    int64_t* const labels = out.labels_BL.mutable_data_ptr<int64_t>() + b * width;
    for (size_t i = 0; i < length; ++i) {
      sources[i] = row.sources[i];
      if (i + 1 < row.targets.size()) labels[i] = row.targets[i + 1];
      out.num_labels += labels[i] == kNoLabel ? 0 : 1;
    }
  }
  return out;
}

}  // namespace

MixedRows mix_rows(const at::Tensor& ids_BT, const at::Tensor& loss_mask_BT,
                   const std::vector<int64_t>& audio_frames, const RowIds& ids, bool for_training) {
  const at::Tensor host_BT = ids_BT.to(at::kCPU, at::kLong).contiguous();
  at::Tensor mask_BT;
  if (loss_mask_BT.defined()) mask_BT = loss_mask_BT.to(at::kCPU, at::kBool).contiguous();
  const int64_t num_rows = host_BT.size(0), width = host_BT.size(1);
  AudioFrames audio(audio_frames, num_rows * width);
  std::vector<Row> rows;
  for (int64_t b = 0; b < num_rows; ++b) {
    const int64_t* const row_ids = host_BT.const_data_ptr<int64_t>() + b * width;
    const bool* const mask =
        mask_BT.defined() ? mask_BT.const_data_ptr<bool>() + b * width : nullptr;
    rows.push_back(make_row(row_ids, mask, first_column(row_ids, width, ids.pad), b * width, width,
                            ids, audio));
  }
  const auto num_audios = static_cast<int64_t>(audio_frames.size());
  if (audio.used() != num_audios) {
    throw audio_count_error({"the batch", ids.tag_text, audio.used(), num_audios});
  }
  const int64_t frames = std::accumulate(audio_frames.begin(), audio_frames.end(), int64_t{0});
  return padded(rows, num_rows * width + frames, for_training);
}

at::Tensor left_padded(const at::Tensor& x, const std::vector<int64_t>& lengths) {
  at::Tensor out = at::zeros_like(x);
  for (int64_t b = 0; b < x.size(0); ++b) {
    const int64_t length = lengths[static_cast<size_t>(b)];
    out[b].narrow(0, x.size(1) - length, length).copy_(x[b].narrow(0, 0, length));
  }
  return out;
}

}  // namespace s2s::salm
