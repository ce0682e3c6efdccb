#include "causal_lm.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>

#include "s2s/error.h"
#include "s2s/model_flops.h"
#include "s2s/model_parts.h"
#include "s2s/nn/losses.h"
#include "s2s/nn/rows.h"
#include "s2s/nn/text_decoding.h"
#include "text_batches.h"

namespace s2s::causal_lm {

CausalLm::CausalLm(CausalLmOptions options, std::unique_ptr<Backbone> llm,
                   const Tokenizer* tokenizer)
    : options_(std::move(options)), llm_(std::move(llm)), tokenizer_(tokenizer) {
  register_block("llm", *llm_);
}

CausalLm::~CausalLm() = default;

const Tokenizer& CausalLm::tokenizer() const { return required_tokenizer(tokenizer_); }

HeadWeight CausalLm::head() {
  HeadWeight head = llm_->head();
  head.soft_cap = llm_->logit_soft_cap();
  return head;
}

BatchWeight CausalLm::weigh(const Batch& batch) {
  const TextCounts counts = count_text(batch);
  BatchWeight weight;
  weight.frames = counts.real;
  weight.padded_frames = batch.text_BT.numel();
  weight.tokens = counts.real;
  weight.loss_frames = counts.labels;
  const BackboneShape& shape = llm_->shape();
  ProductWeights weights;
  count_products(*llm_, nullptr, [&](const std::string& name) {
    return name.starts_with("embed_tokens.") && !shape.tied_head ? nullptr : &weights;
  });
  weight.model_flops = weights.flops(static_cast<double>(weight.padded_frames)) +
                       attention_flops(shape, static_cast<double>(counts.pairs));
  return weight;
}

CausalLm::Predictions CausalLm::predict(const Batch& batch) {
  const int64_t width = batch.text_BT.size(1);
  SequenceInfo info;
  at::Tensor ids_BT = batch.text_BT;
  if (!batch.documents.empty()) {
    info.documents = std::make_shared<const std::vector<DocumentSpan>>(documents_in_one_row(batch));
    ids_BT = ids_BT.reshape({1, -1});
  }
  const at::Tensor hidden = (*llm_)(llm_->embed(ids_BT), info);
  const at::Tensor hidden_BTH = hidden.reshape({batch.text_BT.size(0), width, hidden.size(-1)});
  return {hidden_BTH.narrow(1, 0, width - 1).flatten(0, 1),
          batch.text_labels_BT.narrow(1, 1, width - 1).flatten()};
}

LossTerms CausalLm::training_loss(const Batch& batch, const StepContext& context) {
  auto [hidden_NH, labels_N] = predict(batch);
  at::Tensor weights_N1;
  if (hidden_NH.is_cpu()) {  // skips tokens that are not predicted
    const at::Tensor kept = labels_N.ne(kIgnored).nonzero().squeeze(-1);
    if (kept.size(0) < labels_N.size(0)) {
      hidden_NH = hidden_NH.index_select(0, kept);
      labels_N = labels_N.index_select(0, kept);
    }
  } else {  // counting them would make the host wait
    weights_N1 = labels_N.ne(kIgnored).to(at::kFloat).unsqueeze(1);
    labels_N = labels_N.clamp_min(0);
  }
  const at::Tensor sum = linear_cross_entropy(hidden_NH, head(), labels_N.unsqueeze(1), weights_N1);
  const bool local = options_.loss_normalization == "local" || context.loss_frames <= 0;
  const double labels = local
                            ? static_cast<double>(count_text(batch).labels * context.micro_batches)
                            : context.loss_frames;
  LossTerms terms;
  terms.total = sum / std::max(labels, 1.0);
  terms.parts["text_loss"] = terms.total.detach();
  return terms;
}

MetricSums CausalLm::evaluate(const Batch& batch) {
  const at::NoGradGuard no_grad;
  const auto [hidden_NH, labels_N] = predict(batch);
  const at::Tensor valid_N = labels_N.ne(kIgnored);
  const CrossEntropyRows rows =
      linear_cross_entropy_rows(hidden_NH, head(), labels_N.clamp_min(0).unsqueeze(1));
  const auto count = valid_N.sum().item<double>();
  const at::Tensor right_N = rows.predicted_NK.squeeze(1).eq(labels_N);
  const auto sum_of = [&valid_N](const at::Tensor& values) {
    return (values.to(at::kDouble) * valid_N).sum().item<double>();
  };
  return {{"text_loss", {sum_of(rows.loss_NK.squeeze(1)), count}},
          {"text_accuracy", {sum_of(right_N), count}}};
}

std::map<std::string, double> CausalLm::metrics_of(const MetricSums& sums) const {
  std::map<std::string, double> metrics = Model::metrics_of(sums);
  const auto loss = metrics.find("text_loss");
  if (loss != metrics.end()) metrics["perplexity"] = std::exp(loss->second);
  return metrics;
}

std::vector<std::string> CausalLm::metric_names() const {
  return {"text_loss", "text_accuracy", "perplexity"};
}

ShardPlan CausalLm::configure_model(const MeshShape& mesh) const {
  return llm_->configure_model(mesh).nested_under("llm");
}

NameMap CausalLm::checkpoint_names() const {
  NameMap names = llm_->checkpoint_names();
  for (NameRule& rule : names.rules) rule.ours = "llm." + rule.ours;
  for (NameRule& rule : names.other_spellings) rule.ours = "llm." + rule.ours;
  return names;
}

std::vector<int64_t> CausalLm::end_tokens(const TextGenerationOptions& options) const {
  std::vector<int64_t> ends = options.end_tokens;
  if (options_.eos) ends.push_back(*options_.eos);
  if (!options_.eos && tokenizer_ != nullptr) {
    const int64_t eos = tokenizer_->known_special_ids().eos;
    if (eos >= 0) ends.push_back(eos);
  }
  return ends;
}

std::vector<TextAnswer> CausalLm::continue_prompts(const std::vector<TextPrompt>& prompts,
                                                   const TextGenerationOptions& options,
                                                   const SamplingOptions& sampling) {
  const at::NoGradGuard no_grad;
  const at::Device device = llm_->named_parameters().front().tensor->device();
  std::vector<PromptEmbeddings> embedded;
  for (const TextPrompt& prompt : prompts) {
    const at::Tensor ids_T = at::tensor(prompt.ids, at::kLong).to(device);
    embedded.push_back({llm_->embed(ids_T.unsqueeze(0)).squeeze(0), prompt.ids});
  }
  return answer_texts(*llm_, embedded, options, end_tokens(options), sampling, tokenizer());
}

Batch CausalLm::probe_batch(const ProbeBatch& shape) {
  Batch batch;
  const int64_t width = std::max<int64_t>(2, shape.tokens > 0 ? shape.tokens : 1024);
  batch.text_BT = at::randint(llm_->shape().vocab_size, {shape.rows, width}, at::kLong);
  batch.text_labels_BT = batch.text_BT.clone();
  batch.text_labels_BT.select(1, 0).fill_(kIgnored);
  batch.ids.assign(static_cast<size_t>(shape.rows), "random");
  return batch;
}

namespace {

/// Returns [P, N] int64 of rows with different lengths, filled with -1.
at::Tensor padded_rows(const std::vector<std::vector<int64_t>>& rows, int64_t width) {
  const at::Tensor out = at::full({static_cast<int64_t>(rows.size()), width}, -1, at::kLong);
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto length = static_cast<int64_t>(rows[i].size());
    out[static_cast<int64_t>(i)].narrow(0, 0, length).copy_(at::tensor(rows[i], at::kLong));
  }
  return out;
}

std::vector<int64_t> ids_of(const at::Tensor& row) {
  return to_vector(row.masked_select(row.ge(0)));
}

}  // namespace

/// Answers `prompts` [P, L] (filled with -1) as one batch.
std::map<std::string, at::Tensor> CausalLm::decoded_references(
    const std::map<std::string, at::Tensor>& inputs) {
  const at::NoGradGuard no_grad;
  const at::Tensor& prompts_PL = inputs.at("prompts");
  std::vector<PromptEmbeddings> prompts;
  for (int64_t row = 0; row < prompts_PL.size(0); ++row) {
    const std::vector<int64_t> ids = ids_of(prompts_PL[row]);
    const at::Tensor ids_1T = at::tensor(ids, at::kLong).to(prompts_PL.device()).unsqueeze(0);
    prompts.push_back({llm_->embed(ids_1T).squeeze(0), ids});
  }
  TextDecoding decoding;
  decoding.max_new_tokens = inputs.at("new").numel();
  decoding.end_tokens = ids_of(inputs.at("end"));
  const auto answers = decode_text(*llm_, prompts, decoding);
  decoding.num_beams = 3;
  const auto beams = decode_text(*llm_, prompts, decoding);
  return {{"tokens", padded_rows(answers, decoding.max_new_tokens)},
          {"beams", padded_rows(beams, decoding.max_new_tokens)}};
}

std::map<std::string, at::Tensor> CausalLm::reference_outputs(
    const std::map<std::string, at::Tensor>& inputs, bool training) {
  if (!training) return decoded_references(inputs);
  Batch batch;
  batch.text_BT = inputs.at("ids");
  batch.text_labels_BT = inputs.at("labels");
  if (const auto found = inputs.find("documents"); found != inputs.end()) {
    const at::Tensor spans = found->second.to(at::kCPU, at::kLong).contiguous();
    const auto* const value = spans.const_data_ptr<int64_t>();
    for (int64_t i = 0; i < spans.size(0); ++i) {
      batch.documents.push_back({value[3 * i], value[3 * i + 1], value[3 * i + 2]});
    }
  }
  const StepContext whole{0, static_cast<double>(count_text(batch).labels), 1};
  return {{"loss", training_loss(batch, whole).total}};
}

}  // namespace s2s::causal_lm
