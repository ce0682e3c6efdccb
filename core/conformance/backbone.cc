// Shape letters: B batch, T positions, H hidden, V vocabulary.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "answers.h"
#include "weights/shape_text.h"

namespace s2s::conformance {
namespace {

constexpr int64_t kRows = 2;
constexpr int64_t kPositions = 9;

at::Tensor some_ids(int64_t vocab_size) {
  return at::arange(kRows * kPositions, at::kLong)
      .mul_(7)
      .remainder_(vocab_size)
      .view({kRows, kPositions});
}

at::Tensor hidden_of(Backbone& model, const at::Tensor& ids_BT) {
  return model(model.embed(ids_BT), SequenceInfo{});
}

void ask_shapes(Backbone& model, const at::Tensor& hidden_BTH, Questions& questions) {
  const BackboneShape& shape = model.shape();
  const at::Tensor head = model.head().weight;
  questions.ask(hidden_BTH.sizes() == at::IntArrayRef({kRows, kPositions, shape.hidden_size}),
                "hidden states are " + shape_text(hidden_BTH) + ", not [B, T, hidden_size]");
  questions.ask(head.sizes() == at::IntArrayRef({shape.vocab_size, shape.hidden_size}),
                "the head is " + shape_text(head) + ", not [vocab_size, hidden_size]");
  questions.ask(
      close(model.logits(hidden_BTH, /*soft_cap=*/false), at::matmul(hidden_BTH, head.t())),
      "logits differ from hidden states times the head's weight");
  questions.ask(model.find_block("embed_tokens") != nullptr, "no block is called embed_tokens");
  questions.ask((model.find_block("lm_head") == nullptr) == shape.tied_head,
                "an untied head needs a block lm_head, a tied head must have none");
}

void ask_causality(Backbone& model, const at::Tensor& ids_BT, const at::Tensor& hidden_BTH,
                   Questions& questions) {
  at::Tensor other = ids_BT.clone();
  other.slice(1, kPositions / 2).add_(1).remainder_(model.shape().vocab_size);
  questions.ask(close(hidden_of(model, other).slice(1, 0, kPositions / 2),
                      hidden_BTH.slice(1, 0, kPositions / 2)),
                "attention is not causal: a position depends on a later one");
}

void ask_state(Backbone& model, const at::Tensor& ids_BT, const at::Tensor& hidden_BTH,
               Questions& questions) {
  SequenceState state(model.shape().num_layers);
  std::vector<at::Tensor> pieces;
  for (const auto& [begin, end] : {std::pair{0, 4}, {4, 5}, {5, 6}, {6, 9}}) {
    SequenceInfo info;
    info.state = &state;
    pieces.push_back(model(model.embed(ids_BT.slice(1, begin, end)), info));
    questions.ask(state.length() == end, "the state has " + std::to_string(state.length()) +
                                             " positions after " + std::to_string(end));
  }
  questions.ask(close(at::cat(pieces, 1), hidden_BTH),
                "decoding in chunks with the state differs from one forward");
}

}  // namespace

Answers broken_promises(Backbone& model) {
  Questions questions;
  const at::Tensor ids_BT = some_ids(model.shape().vocab_size);
  model.train(false);
  {
    const at::NoGradGuard no_grad;
    const at::Tensor hidden_BTH = hidden_of(model, ids_BT);
    ask_shapes(model, hidden_BTH, questions);
    ask_causality(model, ids_BT, hidden_BTH, questions);
    ask_state(model, ids_BT, hidden_BTH, questions);
  }
  const at::Tensor logits_BTV = model.logits(hidden_of(model, ids_BT));
  at::log_softmax(logits_BTV, -1).select(-1, 0).sum().backward();
  ask_gradients(model, questions);
  ask_plans(model, questions);
  ask_names(model, model.checkpoint_names(), questions);
  return questions.take();
}

}  // namespace s2s::conformance
