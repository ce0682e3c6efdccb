// Answers prompts with text.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "s2s/nn/eval_scope.h"
#include "s2s/nn/rows.h"
#include "s2s/nn/text_decoding.h"
#include "salm_errors.h"
#include "salm_model.h"

namespace s2s::salm {
namespace {

void check_audios(const std::vector<TextPrompt>& prompts, const RowIds& ids) {
  for (size_t i = 0; i < prompts.size(); ++i) {
    const auto places = std::count(prompts[i].ids.begin(), prompts[i].ids.end(), ids.tag);
    const auto audios = static_cast<int64_t>(prompts[i].audios_S.size());
    if (places == audios) continue;
    throw audio_count_error({"prompt " + std::to_string(i + 1), ids.tag_text, places, audios});
  }
}

std::vector<int64_t> without_padding(const at::Tensor& ids_T, int64_t pad) {
  const std::vector<int64_t> ids = to_vector(ids_T);
  const auto first = std::find_if(ids.begin(), ids.end(), [pad](int64_t id) { return id != pad; });
  if (first == ids.end()) return {pad};  // generation needs an input
  return {first, ids.end()};
}

/// The batch that NeMo's data set would make of these prompts.
SalmBatch batch_of(const std::vector<TextPrompt>& prompts, int64_t pad, at::Device device) {
  int64_t width = 1, num_samples = 0;
  std::vector<at::Tensor> audios;
  for (const TextPrompt& prompt : prompts) {
    width = std::max(width, static_cast<int64_t>(prompt.ids.size()));
    for (const at::Tensor& audio_S : prompt.audios_S) {
      audios.push_back(audio_S);
      num_samples = std::max(num_samples, audio_S.numel());
    }
  }
  const at::TensorOptions ids_type(at::kLong);
  SalmBatch batch;
  batch.input_ids_BT = at::full({static_cast<int64_t>(prompts.size()), width}, pad, ids_type);
  for (size_t i = 0; i < prompts.size(); ++i) {
    const auto count = static_cast<int64_t>(prompts[i].ids.size());
    batch.input_ids_BT[static_cast<int64_t>(i)]
        .narrow(0, width - count, count)
        .copy_(at::tensor(prompts[i].ids, ids_type));
  }
  const auto num_audios = static_cast<int64_t>(audios.size());
  batch.audios_AS = at::zeros({num_audios, num_samples}, at::TensorOptions(at::kFloat));
  batch.audio_lens_A = at::zeros({num_audios}, ids_type);
  for (int64_t a = 0; a < num_audios; ++a) {
    const at::Tensor& audio_S = audios[static_cast<size_t>(a)];
    batch.audios_AS[a].narrow(0, 0, audio_S.numel()).copy_(audio_S);
    batch.audio_lens_A[a].fill_(audio_S.numel());
  }
  batch.input_ids_BT = batch.input_ids_BT.to(device);
  batch.audios_AS = batch.audios_AS.to(device);
  return batch;
}

}  // namespace

std::vector<PromptEmbeddings> SalmModel::embedded(const std::vector<TextPrompt>& prompts,
                                                  const at::Tensor& transcripts_AW) {
  check_audios(prompts, parts_.ids);
  const at::NoGradGuard no_grad;
  const EvalScope eval(*this);
  const at::Device device = perception_.named_parameters().front().tensor->device();
  SalmBatch batch = batch_of(prompts, parts_.ids.pad, device);
  batch.transcripts_AW = transcripts_AW;
  const Prepared prepared = prepare(batch, false);
  std::vector<PromptEmbeddings> embedded;
  for (size_t i = 0; i < prompts.size(); ++i) {
    const at::Tensor row_LH = prepared.embeds_BLH[static_cast<int64_t>(i)];
    PromptEmbeddings& prompt = embedded.emplace_back();
    prompt.x_TH = row_LH.narrow(0, 0, prepared.rows.lengths[i]);
    // As NeMo: repetition penalties see only prompts without audio.
    if (prompts[i].audios_S.empty()) prompt.ids = prompts[i].ids;
  }
  return embedded;
}

std::vector<int64_t> SalmModel::end_tokens(const TextGenerationOptions& options) const {
  std::vector<int64_t> ends = options.end_tokens;
  ends.push_back(parts_.eos);
  return ends;
}

std::vector<TextPrompt> split_prompts(const SalmBatch& batch, const RowIds& ids) {
  const at::Tensor audio_lens_A = batch.audio_lens_A.to(at::kCPU, at::kLong);
  std::vector<TextPrompt> prompts;
  int64_t audio = 0;
  for (const at::Tensor& ids_T : batch.input_ids_BT.unbind()) {
    TextPrompt& prompt = prompts.emplace_back();
    prompt.ids = without_padding(ids_T, ids.pad);
    const auto places = std::count(prompt.ids.begin(), prompt.ids.end(), ids.tag);
    for (auto i = places; i > 0 && audio < audio_lens_A.size(0); --i, ++audio) {
      const int64_t length = audio_lens_A[audio].item<int64_t>();
      prompt.audios_S.push_back(batch.audios_AS[audio].narrow(0, 0, length));
    }
  }
  return prompts;
}

std::vector<TextPrompt> SalmModel::prompts_of(const Batch& batch) {
  const auto ids = batch.others.find("prompt_ids");
  if (ids == batch.others.end()) return {};
  return split_prompts(
      {batch.others.at("audios"), batch.others.at("audio_lens"), ids->second, at::Tensor()},
      parts_.ids);
}

std::vector<TextAnswer> SalmModel::continue_prompts(const std::vector<TextPrompt>& prompts,
                                                    const TextGenerationOptions& options,
                                                    const SamplingOptions& sampling) {
  if (prompts.empty()) return {};
  if (options.num_beams > 1 && sampling.temperature > 0) {
    throw sampled_beams_error(options.num_beams, sampling.temperature);
  }
  const EvalScope eval(*this);
  return answer_texts(*parts_.llm, embedded(prompts), options, end_tokens(options), sampling,
                      tokenizer());
}

}  // namespace s2s::salm
