#include "duplex_batch.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

#include "eartts_errors.h"
#include "eartts_model.h"
#include "s2s/nn/full_precision.h"
#include "s2s/nn/rows.h"

namespace s2s::eartts {
namespace {

constexpr int64_t kSilentFrames = 2;  // at the end of a voice's prompt
constexpr int64_t kFewestFrames = 3;

/// Moves the columns one to the left, with zeros in the last one.
at::Tensor one_earlier(const at::Tensor& x_BT) {
  return at::constant_pad_nd(x_BT.slice(1, 1), {0, 1}, 0);
}

/// Codes of whole frames, [B, T, K].
at::Tensor coded(const at::Tensor& audio_BS, const at::Tensor& lengths_B, Codec& codec) {
  const at::NoGradGuard no_grad;
  const FullPrecision full_precision;
  return codec.encode(audio_BS, lengths_B).first.transpose(1, 2).contiguous();
}

at::Tensor padded_rows(const std::vector<at::Tensor>& rows, int64_t value) {
  int64_t width = 0;
  for (const at::Tensor& row : rows) width = std::max(width, row.size(0));
  std::vector<at::Tensor> padded;
  for (const at::Tensor& row : rows) {
    padded.push_back(at::constant_pad_nd(row, {0, width - row.size(0)}, value));
  }
  return at::stack(padded);
}

}  // namespace

int64_t BatchMaker::voice_frames() const {
  const double samples =
      options_.audio_prompt_duration * static_cast<double>(codec_.sample_rate_hz);
  return static_cast<int64_t>(std::floor(samples / static_cast<double>(codec_.samples_per_frame)));
}

at::Tensor BatchMaker::prompt_audio(const at::Tensor& voice_S, int64_t start) const {
  const int64_t frame = codec_.samples_per_frame, count = voice_frames() * frame;
  at::Tensor prompt_S = voice_S.new_zeros({count});
  const int64_t length = voice_S.size(0);
  if (length >= count) {
    prompt_S.copy_(voice_S.slice(0, start, start + count));
  } else if (length > 0) {
    prompt_S.copy_(voice_S.repeat({(count + length - 1) / length}).slice(0, 0, count));
  }
  prompt_S.slice(0, std::max<int64_t>(count - kSilentFrames * frame, 0)).zero_();
  return prompt_S;
}

at::Tensor BatchMaker::voice_of(const Batch& batch, int64_t row, const std::string& id,
                                int64_t step) const {
  const int64_t length = batch.target_audio_lens_B[row].item<int64_t>();
  std::vector<std::pair<int64_t, int64_t>> pieces;
  const auto row_index = static_cast<size_t>(row);
  if (row_index < batch.turns.size()) {
    const auto rate = static_cast<double>(codec_.sample_rate_hz);
    for (const Turn& turn : batch.turns[row_index]) {
      const auto begin = std::max<int64_t>(std::llround(turn.start_s * rate), 0);
      const auto end = std::min<int64_t>(std::llround(turn.end_s * rate), length);
      if (turn.is_agent && begin < end) pieces.emplace_back(begin, end);
    }
  }
  const auto [choice, place] = two_numbers(id, step);
  const int64_t count = voice_frames() * codec_.samples_per_frame;
  at::Tensor voice_S = batch.target_audio_BS.new_zeros({0});
  const auto given = batch.others.find("audio_prompt");
  if (given != batch.others.end()) {
    const at::Tensor& lengths_B = batch.others.at("audio_prompt_lens");
    voice_S = given->second[row].slice(0, 0, lengths_B[row].item<int64_t>());
  } else if (!pieces.empty()) {
    const auto chosen = static_cast<size_t>(choice * static_cast<double>(pieces.size()));
    voice_S = batch.target_audio_BS[row].slice(0, pieces[chosen].first, pieces[chosen].second);
  }
  const int64_t spare = std::max<int64_t>(voice_S.size(0) - count, 0);
  return prompt_audio(voice_S, static_cast<int64_t>(place * static_cast<double>(spare + 1)));
}

std::pair<at::Tensor, at::Tensor> BatchMaker::voices_of(const Batch& batch) const {
  std::vector<at::Tensor> voices;
  const std::vector<std::string> names = row_ids(batch, batch.target_audio_BS.size(0));
  for (size_t row = 0; row < names.size(); ++row) {
    voices.push_back(voice_of(batch, static_cast<int64_t>(row), names[row], 0));
  }
  const at::Tensor voices_BS = at::stack(voices);
  return {voices_BS,
          at::full({voices_BS.size(0)}, voices_BS.size(1), voices_BS.options().dtype(at::kLong))};
}

PromptedBatch BatchMaker::with_prompts(const Batch& batch, int64_t step) const {
  if (!batch.target_audio_BS.defined()) throw no_input_error("target_audio");
  if (!batch.target_tokens_BT.defined()) throw no_input_error("target_tokens");
  const int64_t rows = batch.target_audio_BS.size(0), frame = codec_.samples_per_frame;
  const int64_t frames = prompt_frames();
  const std::vector<std::string> names = row_ids(batch, rows);
  std::vector<at::Tensor> audios, texts, masks;
  std::vector<int64_t> lengths;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t samples = batch.target_audio_lens_B[row].item<int64_t>();
    const int64_t tokens = batch.target_token_lens_B[row].item<int64_t>();
    const at::Tensor text_T = batch.target_tokens_BT[row].slice(0, 0, tokens);
    // A frame that ends a turn, the voice, and a frame that ends the prompt.
    at::Tensor prompt_T = at::full({1 + frames}, ids_.pad, text_T.options());
    prompt_T[0] = ids_.eos;
    prompt_T[frames] = ids_.eos;
    const at::Tensor voice_S = frames > 0
                                   ? voice_of(batch, row, names[static_cast<size_t>(row)], step)
                                   : batch.target_audio_BS.new_zeros({0});
    const at::Tensor speech_S = batch.target_audio_BS[row].slice(0, 0, samples);
    audios.push_back(
        at::cat({speech_S.new_zeros({frame}), voice_S,
                 speech_S.new_zeros({options_.num_delay_speech_tokens * frame}), speech_S}));
    lengths.push_back(audios.back().size(0));
    texts.push_back(at::cat({prompt_T, text_T}));
    masks.push_back(at::ones({texts.back().size(0)}, text_T.options()));
    masks.back().slice(0, 0, std::max<int64_t>(frames - 1, 0)).zero_();
  }
  return {padded_rows(audios, 0), at::tensor(lengths, at::kLong).to(batch.target_audio_BS.device()),
          padded_rows(texts, ids_.pad), padded_rows(masks, 0).to(at::kBool)};
}

PromptedBatch BatchMaker::from_nemo(const TensorMap& others) {
  const auto find = [&](const char* name) {
    const auto it = others.find(name);
    if (it == others.end()) throw no_input_error(name);
    return it->second;
  };
  return {find("target_audio"), find("target_audio_lens").to(at::kLong),
          find("target_text_tokens").to(at::kLong), find("non_prompt_mask").to(at::kBool)};
}

TtsInputs BatchMaker::prepare(const PromptedBatch& batch, Codec& codec) const {
  const int64_t frame = codec_.samples_per_frame;
  const at::Tensor frames_B = at::div(batch.audio_lens_B + (frame - 1), frame, "floor");
  const int64_t width = frames_B.max().item<int64_t>();
  TtsInputs inputs;
  inputs.code_BTK = coded(fit_columns(batch.audio_BS, width * frame, 0), frames_B * frame, codec);
  inputs.audio_mask_BT = fit_columns(batch.non_prompt_BT, width, 0);
  const at::Tensor text_BT = fit_columns(batch.text_BT, width, ids_.pad);
  // The first frame and the first speech frame have no code.
  const at::Tensor first_B1 = inputs.audio_mask_BT.to(at::kLong).argmax(1, /*keepdim=*/true);
  const at::Tensor frame_T = at::arange(width, first_B1.options());
  const at::Tensor empty_BT = frame_T.eq(0).logical_or(frame_T.unsqueeze(0).eq(first_B1));
  inputs.code_BTK = inputs.code_BTK.masked_fill(empty_BT.unsqueeze(-1), codec_.codebook_size);
  inputs.subword_ids_BT = one_earlier(text_BT);
  inputs.subword_mask_BT = one_earlier(inputs.audio_mask_BT);
  inputs.text_BT = text_BT;
  return inputs;
}

TtsInputs BatchMaker::prompt_inputs(const at::Tensor& voice_BS, const at::Tensor& lengths_B,
                                    Codec& codec) const {
  const int64_t rows = voice_BS.size(0), frame = codec_.samples_per_frame;
  const int64_t frames = voice_frames();
  if (frames < kFewestFrames) {
    throw bad_sizes_error("model.prompt.audio_prompt_duration", frames,
                          "at least three frames of the codec, to speak with a voice");
  }
  std::vector<at::Tensor> audios;
  for (int64_t row = 0; row < rows; ++row) {
    const at::Tensor voice_S = voice_BS[row].slice(0, 0, lengths_B[row].item<int64_t>());
    audios.push_back(at::cat({voice_S.new_zeros({frame}), prompt_audio(voice_S, 0)}));
  }
  const at::Tensor length_B = at::full({rows}, (1 + frames) * frame, lengths_B.options());
  TtsInputs inputs;
  at::Tensor code_BTK = coded(at::stack(audios), length_B, codec);
  at::Tensor text_BT = at::full({rows, 1 + frames}, ids_.pad, code_BTK.options());
  text_BT.select(1, 0).fill_(ids_.eos);
  text_BT.select(1, frames).fill_(ids_.eos);
  code_BTK.select(1, 0).fill_(codec_.codebook_size);
  code_BTK.select(1, frames - 1).fill_(codec_.codebook_size);
  const at::Tensor frame_T = at::arange(1 + frames, text_BT.options()).expand_as(text_BT);
  const auto cut = [&](const at::Tensor& x) { return x.slice(1, 0, frames); };
  inputs.code_BTK = cut(code_BTK);
  inputs.audio_mask_BT = cut(frame_T.ge(frames - 1));
  inputs.subword_ids_BT = cut(one_earlier(text_BT));
  inputs.subword_mask_BT = cut(frame_T.ge(frames - 2));
  inputs.text_BT = cut(text_BT);
  return inputs;
}

}  // namespace s2s::eartts
