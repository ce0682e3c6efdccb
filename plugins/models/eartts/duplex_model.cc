#include "duplex_model.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>

#include "eartts_errors.h"
#include "eartts_model.h"
#include "s2s/nn/weights.h"

namespace s2s::eartts {

TextEmbedding::TextEmbedding(int64_t count, int64_t dim, std::string path)
    : count_(count), dim_(dim), path_(std::move(path)) {
  register_buffer("weight", weight_);
  TextEmbedding::reset_buffers();
}

TextEmbedding::~TextEmbedding() = default;

void TextEmbedding::reset_buffers() {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(uint64_t{0});
  weight_ = at::empty({count_, dim_}).normal_(0, 1, generator);
}

std::unique_ptr<WeightSource> TextEmbedding::initial_values() {
  if (path_.empty()) return nullptr;
  const NameMap names{.rules = {{"weight", "model.embed_tokens.weight"}},
                      .ignored = {"**"},
                      .other_spellings = {{"weight", "embed_tokens.weight"}, {"weight", "weight"}}};
  return weight_source(*this, names, WeightFiles::open(path_));
}

at::Tensor TextEmbedding::operator()(const at::Tensor& ids_BT) const {
  return at::embedding(weight_, ids_BT);
}

DuplexEarTts::DuplexEarTts(DuplexEarTtsOptions options, DuplexEarTtsParts parts,
                           const Sampling& sampling)
    : options_(std::move(options)),
      parts_(std::move(parts)),
      sampling_(sampling),
      maker_(options_.prompt, parts_.ids, parts_.codec->shape()) {
  register_block("tts_model", *parts_.core);
  register_block("audio_codec", *parts_.codec);
  if (parts_.text_embedding) register_block("embed_tokens", *parts_.text_embedding);
  register_buffer("codec_silence_tokens", silence_K_);
  DuplexEarTts::reset_buffers();
}

DuplexEarTts::~DuplexEarTts() = default;

void DuplexEarTts::reset_buffers() {
  silence_K_ = at::full({parts_.codec->shape().num_codebooks}, -1, at::kLong);
  is_bound_ = false;
}

void DuplexEarTts::bind_codec() {
  if (is_bound_) return;
  is_bound_ = true;
  const at::NoGradGuard no_grad;
  if (silence_K_.lt(0).any().item<bool>()) {
    silence_K_ = parts_.codec->silence_codes().to(silence_K_.device());
  }
  if (parts_.core->has_books()) return;
  std::vector<at::Tensor> books;
  for (const NamedTensor& buffer : parts_.codec->named_buffers()) {
    if (buffer.name.starts_with("prvq.mus_list.")) books.push_back(*buffer.tensor);
  }
  if (static_cast<int64_t>(books.size()) != parts_.codec->shape().num_codebooks) {
    throw no_books_error("model.codec");
  }
  parts_.core->set_books(at::stack(books));
}

PromptedBatch DuplexEarTts::prompted(const Batch& batch, int64_t step) const {
  const bool is_nemo = batch.others.contains("target_text_tokens");
  return is_nemo ? BatchMaker::from_nemo(batch.others) : maker_.with_prompts(batch, step);
}

void DuplexEarTts::add_context(TtsInputs& inputs) const {
  if (parts_.text_embedding) inputs.context_BTU = (*parts_.text_embedding)(inputs.text_BT);
}

TtsInputs DuplexEarTts::inputs_of_batch(const Batch& batch, int64_t step) {
  bind_codec();
  TtsInputs inputs = maker_.prepare(prompted(batch, step), *parts_.codec);
  add_context(inputs);
  return inputs;
}

BatchWeight DuplexEarTts::weigh(const Batch& batch) {
  const PromptedBatch prompted_batch = prompted(batch, 0);
  const int64_t frame = parts_.codec->shape().samples_per_frame;
  const int64_t width = (prompted_batch.audio_lens_B.max().item<int64_t>() + frame - 1) / frame;
  BatchWeight weight =
      weight_of(options_.tts_config, prompted_batch.non_prompt_BT.slice(1, 0, width));
  weight.padded_frames = prompted_batch.audio_BS.size(0) * width;
  weight.audio_s = prompted_batch.audio_lens_B.sum().item<double>() /
                   static_cast<double>(parts_.codec->shape().sample_rate_hz);
  return weight;
}

LossTerms DuplexEarTts::training_loss(const Batch& batch, const StepContext& context) {
  const TtsInputs inputs = inputs_of_batch(batch, context.step);
  const int64_t rows = inputs.code_BTK.size(0), width = inputs.code_BTK.size(1);
  const Draws draws = draw(options_.tts_config, row_ids(batch, rows), width, context.step,
                           inputs.code_BTK.device());
  return terms_of(parts_.core->losses(inputs, draws), context.micro_batches);
}

MetricSums DuplexEarTts::evaluate(const Batch& batch) {
  const TtsInputs inputs = inputs_of_batch(batch, 0);
  return sums_of(*parts_.core, inputs, row_ids(batch, inputs.code_BTK.size(0)));
}

std::vector<std::string> DuplexEarTts::metric_names() const {
  return {"loss", "lm_loss", "c_loss", "k_loss"};
}

ShardPlan DuplexEarTts::configure_model(const MeshShape& mesh) const {
  return parts_.core->configure_model(mesh).nested_under("tts_model");
}

NameMap DuplexEarTts::checkpoint_names() const {
  NameMap names;
  names.rules = {{"tts_model.marks.bos_emb", "tts_model.bos_emb"},
                 {"tts_model.marks.null_emb", "tts_model.null_emb"},
                 {"**", "**"}};
  names.ignored = {"_control_codes", "audio_prompt_latents.**"};
  return names;
}

std::map<std::string, at::Tensor> DuplexEarTts::reference_outputs(
    const std::map<std::string, at::Tensor>& inputs, bool training) {
  if (!training) {
    const auto speech =
        open_speech(inputs.at("audio_prompt"), inputs.at("audio_prompt_lens").to(at::kLong));
    const at::Tensor codes_BNK = speech->push(inputs.at("next_subword_ids").to(at::kLong));
    return {{"tokens_audio", codes_BNK}, {"audio", codec().decode(codes_BNK.transpose(1, 2))}};
  }
  train(true);
  Batch batch;
  batch.others = inputs;
  const TtsInputs prepared = inputs_of_batch(batch, 0);
  const TtsLosses losses =
      parts_.core->losses(prepared, draws_of(inputs, options_.tts_config, prepared));
  const int64_t width = prepared.code_BTK.size(1);
  at::Tensor valid_BT1 = at::ones_like(prepared.audio_mask_BT).unsqueeze(-1);
  if (const auto found = inputs.find("aligned_position_ids"); found != inputs.end()) {
    const at::Tensor positions_BT = found->second;
    valid_BT1 = at::constant_pad_nd(positions_BT.gt(0), {0, width - positions_BT.size(1)}, 0);
    valid_BT1.select(1, 0).fill_(true);
    valid_BT1 = valid_BT1.unsqueeze(-1);
  }
  TensorMap outputs = reference_of(losses, valid_BT1);
  outputs["code"] = prepared.code_BTK * valid_BT1;
  return outputs;
}

}  // namespace s2s::eartts
