// SALM with the text of an ASR decoder after each audio.
// Source: NeMo speechlm2 models/salm_asr_decoder.py prepare_inputs, generate.

#include <ATen/ATen.h>

#include "salm_model.h"

namespace s2s::salm {
namespace {

std::vector<std::vector<int64_t>> rows_without_padding(const at::Tensor& ids_AW) {
  const at::Tensor host_AW = ids_AW.to(at::kCPU, at::kLong).contiguous();
  std::vector<std::vector<int64_t>> rows;
  for (const at::Tensor& row_W : host_AW.unbind()) {
    const auto* const ids = row_W.const_data_ptr<int64_t>();
    std::vector<int64_t>& row = rows.emplace_back();
    for (int64_t i = 0; i < row_W.numel() && ids[i] >= 0; ++i) row.push_back(ids[i]);
  }
  return rows;
}

}  // namespace

std::vector<std::vector<int64_t>> SalmModel::transcripts(
    const SalmBatch& batch, const std::vector<std::vector<int64_t>>& labels) {
  if (batch.transcripts_AW.defined()) return rows_without_padding(batch.transcripts_AW);
  at::Tensor is_dropped_A = at::zeros({static_cast<int64_t>(labels.size())}, at::kBool);
  if (is_training() && options_.asr_transcript_drop_prob > 0) {
    is_dropped_A = at::rand({is_dropped_A.numel()}) < options_.asr_transcript_drop_prob;
  }
  std::vector<std::vector<int64_t>> ids;
  for (size_t a = 0; a < labels.size(); ++a) {
    const bool is_dropped = is_dropped_A.const_data_ptr<bool>()[a];
    const std::string text = is_dropped ? "" : parts_.asr_decoder->text(labels[a]);
    ids.push_back(tokenizer().encode(text.empty() ? ">> <<" : ">> " + text + " <<"));
  }
  return ids;
}

SalmModel::Prepared SalmModel::prepare_with_text(const SalmBatch& batch, bool for_training) {
  const at::Tensor audio_lens_A = batch.audio_lens_A.to(at::kLong);
  const EncoderOutput encoded =
      perception_.encoder().forward(batch.audios_AS, audio_lens_A.to(batch.audios_AS.device()));
  const auto labels = parts_.asr_decoder->labels(encoded.features_BTH.detach(), encoded.lengths_B);
  const auto texts = transcripts(batch, labels);
  const EncoderOutput heard = perception_.adapt(encoded);

  std::vector<int64_t> more_ids, counts;
  for (const std::vector<int64_t>& ids : texts) {
    more_ids.insert(more_ids.end(), ids.begin(), ids.end());
  }
  // Embeds all ids in one call, because the ranks of a sharded model embed together.
  const at::Tensor ids_BT = text_ids(batch, parts_.ids);
  const at::Tensor all_N =
      at::cat({ids_BT.flatten(), at::tensor(more_ids, at::kLong).to(ids_BT.device())});
  const at::Tensor all_NH = parts_.llm->embed(all_N.unsqueeze(0)).squeeze(0);
  int64_t at = ids_BT.numel();
  std::vector<at::Tensor> frames;
  for (size_t a = 0; a < texts.size(); ++a) {
    const auto row = static_cast<int64_t>(a);
    const int64_t num_frames = perception_.output_frames(audio_lens_A[row].item<int64_t>());
    const auto num_ids = static_cast<int64_t>(texts[a].size());
    frames.push_back(heard.features_BTH[row].narrow(0, 0, num_frames).to(all_NH.scalar_type()));
    frames.push_back(all_NH.narrow(0, at, num_ids));
    counts.push_back(num_frames + num_ids);
    at += num_ids;
  }
  MixedRows rows =
      mix_rows(batch.input_ids_BT, batch.loss_mask_BT, counts, parts_.ids, for_training);
  Prepared out =
      mixed(batch, std::move(rows), all_NH.narrow(0, 0, ids_BT.numel()), at::cat(frames));
  out.asr_labels = labels;
  return out;
}

}  // namespace s2s::salm
