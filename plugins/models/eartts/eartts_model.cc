#include "eartts_model.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "eartts_errors.h"

namespace s2s::eartts {

Vocabulary vocabulary_of(const std::vector<std::string>& pieces, const TokenIdOptions& tokens,
                         const Tokenizer* tokenizer, bool is_needed) {
  Vocabulary vocabulary;
  vocabulary.pieces = pieces;
  if (tokenizer != nullptr) {
    vocabulary.bos = tokenizer->special_ids().bos;
    vocabulary.eos = tokenizer->special_ids().eos;
    if (pieces.empty() && is_needed) {
      for (int64_t id = 0; id < tokenizer->vocab_size(); ++id) {
        vocabulary.pieces.push_back(tokenizer->piece(id));
      }
    }
  }
  vocabulary.bos = tokens.bos.value_or(vocabulary.bos);
  vocabulary.eos = tokens.eos.value_or(vocabulary.eos);
  if (is_needed && vocabulary.pieces.empty()) throw no_pieces_error("model");
  return vocabulary;
}

TtsInputs inputs_of(const TensorMap& tensors) {
  const auto find = [&](const char* name) {
    const auto it = tensors.find(name);
    return it == tensors.end() ? at::Tensor() : it->second;
  };
  const auto find_as = [&](const char* name, at::ScalarType type) {
    const at::Tensor found = find(name);
    return found.defined() ? found.to(type) : found;
  };
  TtsInputs inputs;
  inputs.code_BTK = find_as("code", at::kLong);
  if (!inputs.code_BTK.defined()) throw no_input_error("code");
  inputs.audio_mask_BT = find_as("audio_mask", at::kBool);
  if (!inputs.audio_mask_BT.defined()) throw no_input_error("audio_mask");
  inputs.context_BTU = find("context_hidden_state");
  inputs.subword_ids_BT = find_as("subword_ids", at::kLong);
  inputs.subword_mask_BT = find_as("subword_mask", at::kBool);
  return inputs;
}

Draws draws_of(const TensorMap& tensors, const TtsOptions& options, const TtsInputs& inputs) {
  const int64_t rows = inputs.code_BTK.size(0), width = inputs.code_BTK.size(1);
  Draws draws = draw(options, row_ids({}, rows), width, 0, inputs.code_BTK.device());
  const auto replace = [&](const char* name, at::Tensor& slot) {
    const auto it = tensors.find(name);
    if (it != tensors.end()) slot = it->second;
  };
  replace("draw_source", draws.source_BT);
  replace("draw_target", draws.target_BT);
  replace("draw_dropout", draws.dropout_BT1);
  replace("draw_books", draws.books_BT1);
  replace("draw_uncond", draws.uncond_B11);
  return draws;
}

std::vector<std::string> row_ids(const Batch& batch, int64_t rows) {
  std::vector<std::string> ids = batch.ids;
  for (auto row = static_cast<int64_t>(ids.size()); row < rows; ++row) {
    ids.push_back("row " + std::to_string(row));
  }
  ids.resize(static_cast<size_t>(rows));
  return ids;
}

LossTerms terms_of(const TtsLosses& losses, int64_t micro_batches) {
  const auto count = static_cast<double>(std::max<int64_t>(micro_batches, 1));
  LossTerms terms;
  terms.total = losses.total() / count;
  terms.parts["lm_loss"] = losses.end.detach() / count;
  terms.parts["c_loss"] = losses.latent.detach() / count;
  terms.parts["k_loss"] = losses.mixture.detach() / count;
  return terms;
}

MetricSums sums_of(TtsCore& core, const TtsInputs& inputs, const std::vector<std::string>& ids) {
  const at::NoGradGuard no_grad;
  const Draws draws =
      draw(core.options(), ids, inputs.code_BTK.size(1), 0, inputs.code_BTK.device());
  const TtsLosses losses = core.losses(inputs, draws);
  const double frames = inputs.audio_mask_BT.sum().item<double>();
  MetricSums sums;
  const auto add = [&](const char* name, const at::Tensor& value) {
    sums[name] = {value.item<double>() * frames, frames};
  };
  add("loss", losses.total());
  add("lm_loss", losses.end);
  add("c_loss", losses.latent);
  add("k_loss", losses.mixture);
  return sums;
}

BatchWeight weight_of(const TtsOptions& options, const at::Tensor& audio_mask_BT) {
  BatchWeight weight;
  weight.frames = audio_mask_BT.sum().item<int64_t>();
  weight.padded_frames = audio_mask_BT.numel();
  weight.tokens = weight.frames * options.num_quantizers;
  return weight;
}

EarTts::EarTts(EarTtsOptions options, std::unique_ptr<TtsCore> core, const Sampling& sampling)
    : options_(std::move(options)), core_(std::move(core)), sampling_(sampling) {
  register_block("", *core_);
}

EarTts::~EarTts() = default;

BatchWeight EarTts::weigh(const Batch& batch) {
  return weight_of(options_.tts, inputs_of(batch.others).audio_mask_BT);
}

LossTerms EarTts::training_loss(const Batch& batch, const StepContext& context) {
  const TtsInputs inputs = inputs_of(batch.others);
  const int64_t rows = inputs.code_BTK.size(0), width = inputs.code_BTK.size(1);
  const Draws draws =
      draw(options_.tts, row_ids(batch, rows), width, context.step, inputs.code_BTK.device());
  return terms_of(core_->losses(inputs, draws), context.micro_batches);
}

MetricSums EarTts::evaluate(const Batch& batch) {
  const TtsInputs inputs = inputs_of(batch.others);
  return sums_of(*core_, inputs, row_ids(batch, inputs.code_BTK.size(0)));
}

std::vector<std::string> EarTts::metric_names() const {
  return {"loss", "lm_loss", "c_loss", "k_loss"};
}

ShardPlan EarTts::configure_model(const MeshShape& mesh) const {
  return core_->configure_model(mesh);
}

NameMap EarTts::checkpoint_names() const { return core_->checkpoint_names(); }

}  // namespace s2s::eartts
