#include "run/unknown_text.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include <utility>

#include "run/forwarding_source.h"

namespace s2s::run {
namespace {

constexpr int kMostBatches = 8;
constexpr int64_t kEnoughTokens = 200;

class TellingSource final : public ForwardingSource {
 public:
  TellingSource(std::unique_ptr<DataSource> source, const SpecialIds& special, int64_t unknown,
                std::function<void(const std::string&)> warn)
      : ForwardingSource(std::move(source)),
        special_(special),
        unknown_(unknown),
        warn_(std::move(warn)) {}

  std::optional<Batch> next() override {
    std::optional<Batch> batch = ForwardingSource::next();
    if (num_batches_ < kMostBatches) look_at(batch);
    return batch;
  }

 private:
  void look_at(const std::optional<Batch>& batch) {
    ++num_batches_;
    if (batch) {
      count(batch->target_tokens_BT);
      count(batch->text_BT);
    }
    if (batch && num_tokens_ < kEnoughTokens && num_batches_ < kMostBatches) return;
    num_batches_ = kMostBatches;
    if (num_unknown_ * 20 <= num_tokens_) return;
    warn_(
        fmt::format("[data/unknown-text] {} of the first {} text tokens are unknown to the "
                    "tokenizer: the model learns nothing of these words; expected few; make a "
                    "tokenizer of these texts (model.tokenizer.train), or check "
                    "model.tokenizer.path; 's2s-run data inspect' counts the words",
                    num_unknown_, num_tokens_));
  }

  void count(const at::Tensor& ids_BT) {
    if (!ids_BT.defined()) return;
    const at::Tensor is_text = ids_BT.ge(0)
                                   .logical_and(ids_BT.ne(special_.bos))
                                   .logical_and(ids_BT.ne(special_.eos))
                                   .logical_and(ids_BT.ne(special_.pad));
    num_tokens_ += is_text.sum().item<int64_t>();
    num_unknown_ += ids_BT.eq(unknown_).sum().item<int64_t>();
  }

  SpecialIds special_;
  int64_t unknown_;
  std::function<void(const std::string&)> warn_;
  int num_batches_ = 0;
  int64_t num_tokens_ = 0, num_unknown_ = 0;
};

}  // namespace

std::unique_ptr<DataSource> telling_unknown_text(
    std::unique_ptr<DataSource> source, const Tokenizer* tokenizer,
    std::function<void(const std::string& message)> warn) {
  if (tokenizer == nullptr || tokenizer->unknown_id() < 0) return source;
  const SpecialIds special = tokenizer->known_special_ids();
  const int64_t unknown = tokenizer->unknown_id();
  if (unknown == special.pad || unknown == special.bos || unknown == special.eos) return source;
  return std::make_unique<TellingSource>(std::move(source), special, unknown, std::move(warn));
}

}  // namespace s2s::run
