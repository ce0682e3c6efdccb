#include "s2s/plugin.h"

#include <memory>
#include <string>
#include <vector>

#include "s2s/data/cut_source.h"
#include "s2s/kinds/data_source.h"
#include "s2s/kinds/tokenizer.h"

namespace s2s::transcribed_cuts {
namespace {

/// A tokenizer whose special ids come after its vocabulary. The text channels of cuts need three;
/// the vocabulary of a recognizer has none to spare.
class WithSpecialIds : public Tokenizer {
 public:
  explicit WithSpecialIds(const Tokenizer& own)
      : own_(own), ids_{own.vocab_size(), own.vocab_size() + 1, own.vocab_size() + 2} {}

  std::vector<int64_t> encode(std::string_view text) const override { return own_.encode(text); }
  std::string decode(const std::vector<int64_t>& ids) const override { return own_.decode(ids); }
  int64_t vocab_size() const override { return ids_.pad + 1; }
  const SpecialIds& special_ids() const override { return ids_; }
  int64_t unknown_id() const override { return own_.unknown_id(); }
  std::string piece(int64_t id) const override {
    return id < own_.vocab_size() ? own_.piece(id) : "<special>";
  }

 private:
  const Tokenizer& own_;
  SpecialIds ids_;
};

/// The source `cuts`, with that tokenizer.
class TranscribedCuts : public DataSource {
 public:
  TranscribedCuts(const Config& block, DataContext context) {
    if (context.tokenizer != nullptr) {
      tokenizer_ = std::make_unique<WithSpecialIds>(*context.tokenizer);
      context.tokenizer = tokenizer_.get();
    }
    cuts_ = open_cut_source(block, context);
  }
  std::optional<Batch> next() override { return cuts_->next(); }
  std::string state() const override { return cuts_->state(); }
  void restore(const std::string& state) override { cuts_->restore(state); }
  std::vector<std::string> texts() override { return cuts_->texts(); }
  std::vector<std::string> left_out() const override { return cuts_->left_out(); }

 private:
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unique_ptr<DataSource> cuts_;
};

std::unique_ptr<DataSource> create(const Config& block, const DataContext& context) {
  return std::make_unique<TranscribedCuts>(block, context);
}

Component<DataSource> component() {
  return {.name = "transcribed_cuts",
          .summary = "cuts with texts, for recognizers: the tokenizer needs no special ids",
          .create = create,
          .options = list_cut_source_options};
}

}  // namespace
}  // namespace s2s::transcribed_cuts

S2S_PLUGIN("transcribed_cuts", "0.1.0", "Apache-2.0", "data:transcribed_cuts") {
  registrar.add(s2s::transcribed_cuts::component());
}
