#pragma once
// A language model alone as a model that trains: text in, the next token's cross entropy.

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <memory>
#include <string>
#include <vector>

#include "../core/train/fake_run.h"
#include "nn/lora.h"
#include "s2s/kinds/backbone.h"
#include "s2s/nn/losses.h"

namespace s2s::test {

class TokenModel : public FakeModel {
 public:
  explicit TokenModel(std::unique_ptr<Backbone> llm) : llm_(std::move(llm)) {
    release_block("linear");  // of the fake
    register_block("", *llm_);
  }
  Backbone& llm() { return *llm_; }
  BatchWeight weigh(const Batch& batch) override {
    const int64_t frames = batch.size() * (batch.target_tokens_BT.size(1) - 1);
    return {frames, frames, frames};
  }
  LossTerms training_loss(const Batch& batch, const StepContext& context) override {
    const int64_t width = batch.target_tokens_BT.size(1) - 1;
    const at::Tensor x_BTH = llm_->embed(batch.target_tokens_BT.narrow(1, 0, width));
    const at::Tensor hidden_BTH = (*llm_)(x_BTH, SequenceInfo{});
    const at::Tensor labels = batch.target_tokens_BT.narrow(1, 1, width).reshape({-1, 1});
    LossTerms terms;
    terms.total =
        linear_cross_entropy(hidden_BTH.flatten(0, 1), llm_->head(), labels) / context.loss_frames;
    terms.parts["text_loss"] = terms.total.detach();
    return terms;
  }
  ShardPlan configure_model(const MeshShape& mesh) const override {
    return llm_->configure_model(mesh);
  }

 private:
  std::unique_ptr<Backbone> llm_;
};

/// Batches that were made before the ranks began: every `size`-th, from the `rank`-th on.
class DealtBatches : public DataSource {
 public:
  DealtBatches(const std::vector<Batch>& batches, int64_t rank, int64_t size)
      : batches_(batches), next_(static_cast<size_t>(rank)), step_(static_cast<size_t>(size)) {}
  std::optional<Batch> next() override {
    if (next_ >= batches_.size()) return std::nullopt;
    const Batch batch = batches_[next_];
    next_ += step_;
    return batch;
  }
  std::string state() const override { return std::to_string(next_); }
  void restore(const std::string&) override {}
  std::vector<std::string> texts() override { return {}; }

 private:
  const std::vector<Batch>& batches_;
  size_t next_, step_;
};

/// rows x (positions + 1) tokens of a vocabulary.
inline std::vector<Batch> token_batches(int64_t count, int64_t vocabulary, int64_t rows,
                                        int64_t positions) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(7);
  std::vector<Batch> batches(static_cast<size_t>(count));
  for (size_t i = 0; i < batches.size(); ++i) {
    batches[i].target_tokens_BT =
        at::randint(0, vocabulary, {rows, positions + 1}, generator, at::kLong);
    batches[i].source_audio_BS = at::zeros({rows, 1});
    batches[i].ids = {"batch" + std::to_string(i)};
  }
  return batches;
}

}  // namespace s2s::test
