// Parts that break one promise each: the check says which.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "conformance/says.h"
#include "core/duplex/table_tokenizer.h"
#include "plugins/built_plugins.h"
#include "s2s/conformance.h"
#include "s2s/nn/weights.h"

using namespace s2s;
using s2s::conformance::broken_promises;
using s2s::test::BuiltPlugins;
using s2s::test::says;

namespace {

/// A good language model behind a forward that looks ahead.
class LooksAhead : public Backbone {
 public:
  explicit LooksAhead(Backbone& good) : good_(good) { register_block("", good); }
  const BackboneShape& shape() const override { return good_.shape(); }
  at::Tensor embed(const at::Tensor& ids_BT) override { return good_.embed(ids_BT); }
  at::Tensor logits(const at::Tensor& hidden, bool soft_cap) override {
    return good_.logits(hidden, soft_cap);
  }
  HeadWeight head() override { return good_.head(); }
  ShardPlan configure_model(const MeshShape& mesh) const override {
    ShardPlan plan = good_.configure_model(mesh);
    plan.rows.pop_back();
    return plan;
  }
  NameMap checkpoint_names() const override { return {{{"layers.**", "layers.**"}}, {}}; }

 protected:
  at::Tensor forward(const at::Tensor& x_BTH, const SequenceInfo& info) override {
    return good_(x_BTH + x_BTH.mean(1, /*keepdim=*/true), info);
  }

 private:
  Backbone& good_;
};

/// A good codec whose streams forget their end, and what is restored.
class ForgetsItsEnd : public Codec {
 public:
  explicit ForgetsItsEnd(Codec& good) : good_(good) { register_block("", good); }
  CodecShape shape() const override { return good_.shape(); }
  std::pair<at::Tensor, at::Tensor> encode(const at::Tensor& audio_BS,
                                           const at::Tensor& lengths_B) override {
    auto [codes_BKT, frames_B] = good_.encode(audio_BS, lengths_B);
    return {codes_BKT + 1, frames_B};
  }
  at::Tensor decode(const at::Tensor& codes_BKT) override { return good_.decode(codes_BKT - 1); }
  std::unique_ptr<CodecStream> open_stream(int64_t batch_size) override {
    struct Stream : CodecStream {
      std::unique_ptr<CodecStream> good;
      at::Tensor push(const at::Tensor& codes_BKT) override { return good->push(codes_BKT - 1); }
      at::Tensor finish() override { return good->finish().slice(1, 0, 0); }
      TensorMap state() const override { return good->state(); }
      void restore(const TensorMap&) override {}
    };
    auto stream = std::make_unique<Stream>();
    stream->good = good_.open_stream(batch_size);
    return stream;
  }
  at::Tensor silence_codes() override { return good_.silence_codes() + 1; }
  bool fit(const std::function<at::Tensor()>& next) override { return good_.fit(next); }
  bool is_fitted() const override { return good_.is_fitted(); }
  NameMap checkpoint_names() const override { return good_.checkpoint_names(); }

 private:
  Codec& good_;
};

/// Batches that count, from a state that is not kept.
class CannotRestore : public DataSource {
 public:
  std::optional<Batch> next() override {
    Batch batch;
    batch.ids = {std::to_string(count_++)};
    batch.source_audio_BS = batch.target_audio_BS = batch.target_tokens_BT = at::zeros({1, 1});
    return batch;
  }
  std::string state() const override { return std::to_string(count_); }
  void restore(const std::string&) override {}
  std::vector<std::string> texts() override { return {}; }

 private:
  int count_ = 0;
};

}  // namespace

TEST_CASE("a language model that looks ahead, lacks a row and a name is told so") {
  BuiltPlugins plugins;
  const auto good = plugins.create<Backbone>(
      parse_json(R"({"name": "llama", "vocab_size": 50, "hidden_size": 16, "intermediate_size": 24,
                     "num_hidden_layers": 1, "num_attention_heads": 2})",
                 "test.json"));
  LooksAhead bad(*good);
  bad.materialize(at::kCPU, at::kFloat, 5);
  const auto answers = broken_promises(bad);
  CHECK(says(answers, "attention is not causal: a position depends on a later one"));
  CHECK(says(answers, "decoding in chunks with the state differs"));
  CHECK(says(answers, "[plan/uncovered]"));
  CHECK(says(answers, "norm.weight has no name in checkpoints"));
}

TEST_CASE("a codec whose stream loses its end is told so") {
  BuiltPlugins plugins;
  const auto good = plugins.create<Codec>(
      parse_json(R"({"name": "mel_fsq", "sample_rate": 16000, "decoder_iterations": 2})", "x"));
  ForgetsItsEnd bad(*good);
  bad.materialize(at::kCPU, at::kFloat, 5);
  at::manual_seed(3);
  int given = 0;
  bad.fit([&] { return given++ < 3 ? at::randn({32000}) * 0.1 : at::Tensor(); });
  const auto answers = broken_promises(bad);
  CHECK(says(answers, "decoding as a stream differs from decoding all frames at once"));
  CHECK(says(answers, "a stream that is restored goes on decoding in another way"));
  CHECK(says(answers, "decoding streams do not refuse the state of another batch size"));
  CHECK(says(answers, "codes beyond a row's length are not 0"));
}

TEST_CASE("a tokenizer that does not lead back is told so") {
  using Table = std::map<std::string, std::vector<int64_t>>;
  const s2s::test::TableTokenizer tokenizer(Table{{"all silence", {0}}});
  const auto answers = broken_promises(tokenizer, {"two words", "all silence"});
  CHECK(says(answers, "'two words' is decoded to"));
  CHECK(says(answers, "'all silence' is encoded to a special id"));
}

TEST_CASE("a source that does not restore is told so") {
  const auto answers = broken_promises([] { return std::make_unique<CannotRestore>(); }, 3);
  CHECK(says(answers, "after restoring the state before 1"));
  CHECK(says(answers, "restore(\"\") does not return to the first batch"));
  CHECK_FALSE(says(answers, "opened again"));
}
