// A decoder from parts: rows that come and go, mixers and feed-forwards of other kinds, stages.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <random>

#include "common/device.h"
#include "common/temporary_folder.h"
#include "nn/decoder/fixed_keys.h"
#include "s2s/nn/decoder.h"
#include "s2s/nn/weights.h"
#include "weights/safetensors.h"

using s2s::DecoderSpec;
using s2s::SequenceInfo;
using s2s::SequenceState;
using s2s::test::device;
using s2s::test::TemporaryFolder;

namespace {

class PartsDecoder : public s2s::Decoder {
 public:
  using Decoder::Decoder;
  s2s::ShardPlan configure_model(const s2s::MeshShape&) const override {
    return plan_with(s2s::decoder_rows(spec()), {{"layers.*"}});
  }
};

DecoderSpec parts_spec() {
  DecoderSpec spec;
  spec.shape = {40, 32, 4, 4, 2, 8, 48, false};
  spec.initializer_range = 0.3;
  return spec;
}

/// Windows in every other layer, caps, head norms, other angles in local layers.
DecoderSpec windowed_spec() {
  DecoderSpec spec = parts_spec();
  spec.attention.window = 6;
  spec.attention.soft_cap = 2;
  spec.local_layers = {true, false, true, false};
  spec.local_rotary.emplace();
  spec.local_rotary->theta = 100;
  spec.qk_norm = true;
  return spec;
}

DecoderSpec dynamic_spec() {
  DecoderSpec spec = parts_spec();
  spec.rotary.scaling = s2s::RotaryScaling::kDynamic;
  spec.rotary.factor = 2;
  spec.rotary.original_max_position_embeddings = 12;
  return spec;
}

/// y_t = a y_(t-1) + (1 - a) x_t with a projection: the smallest recurrent mixer.
class Average : public s2s::Mixer {
 public:
  Average(const DecoderSpec& spec, int64_t layer)
      : layer_(layer), proj_(spec.shape.hidden_size, spec.shape.hidden_size, false) {
    register_block("proj", proj_);
  }
  ~Average() override = default;

 protected:
  at::Tensor forward(const at::Tensor& x_BTH, const SequenceInfo& info) override {
    at::Tensor last;
    if (info.state != nullptr) last = info.state->recall(layer_, "average", info.rows);
    if (!last.defined()) last = at::zeros_like(x_BTH.select(1, 0));
    std::vector<at::Tensor> all;
    for (int64_t t = 0; t < x_BTH.size(1); ++t) {
      last = last * 0.75 + x_BTH.select(1, t) * 0.25;
      all.push_back(last);
    }
    if (info.state != nullptr) info.state->remember(layer_, "average", last, info.rows);
    return proj_(at::stack(all, 1));
  }

 private:
  int64_t layer_;
  s2s::Linear proj_;
};

/// Another feed-forward.
class Squared : public s2s::FeedForward {
 public:
  explicit Squared(const DecoderSpec& spec)
      : up_(spec.shape.hidden_size, 12, false), down_(12, spec.shape.hidden_size, false) {
    register_block("up", up_);
    register_block("down", down_);
  }
  ~Squared() override = default;

 protected:
  at::Tensor forward(const at::Tensor& x_BTH) override { return down_(up_(x_BTH).relu().square()); }

 private:
  s2s::Linear up_, down_;
};

/// Attention and averages in turn; the last layer has another feed-forward.
DecoderSpec hybrid_spec() {
  DecoderSpec spec = parts_spec();
  spec.mixer = [](const DecoderSpec& of, int64_t layer,
                  const std::shared_ptr<s2s::RotaryTables>& rotary) -> s2s::NamedPart<s2s::Mixer> {
    if (layer % 2 == 1) return {"average", std::make_unique<Average>(of, layer)};
    return {"self_attn", std::make_unique<s2s::GroupedQueryAttention>(of, layer, rotary)};
  };
  spec.feed_forward = [](const DecoderSpec& of, int64_t layer) -> s2s::NamedPart<s2s::FeedForward> {
    if (layer == 3) return {"squared", std::make_unique<Squared>(of)};
    return {"mlp", std::make_unique<s2s::GatedMlp>(of)};
  };
  return spec;
}

at::Tensor logits_of(s2s::Decoder& model, const at::Tensor& ids, SequenceState* state = nullptr,
                     const std::vector<int64_t>& rows = {}) {
  SequenceInfo info;
  info.state = state;
  info.rows = rows;
  return model.logits(model(model.embed(ids), info));
}

at::Tensor some_ids(const std::vector<int64_t>& sizes) {
  return at::randint(40, sizes, at::kLong).to(device());
}

/// Decodes conversations alone and in a batch that they join and leave at drawn moments.
void check_rows(const DecoderSpec& spec, bool reserves) {
  PartsDecoder model(spec);
  model.materialize(device(), at::kFloat, 5);
  const at::NoGradGuard no_grad;
  constexpr int64_t kRows = 3, kLength = 30;
  std::vector<at::Tensor> ids(kRows), alone(kRows);
  std::vector<int64_t> at_position(kRows, 0);
  const auto begin = [&](int64_t row) {
    const auto i = static_cast<size_t>(row);
    ids[i] = some_ids({1, kLength});
    at_position[i] = 0;
    std::vector<at::Tensor> parts;
    SequenceState state(4);
    for (int64_t t = 0; t < kLength; ++t) {
      if (reserves) state.reserve(t + 1, device());
      parts.push_back(logits_of(model, ids[i].narrow(1, t, 1), &state));
    }
    alone[i] = at::cat(parts, 1);
  };
  SequenceState state(4, kRows);
  for (int64_t row = 0; row < kRows; ++row) begin(row);
  std::mt19937 draw(7);
  for (int64_t step = 0; step < 60; ++step) {
    std::vector<int64_t> rows;
    for (int64_t row = 0; row < kRows; ++row) {
      if (reserves || draw() % 3 != 0) rows.push_back(row);
    }
    if (rows.empty()) continue;
    for (const int64_t row : rows) {
      if (at_position[static_cast<size_t>(row)] < kLength && draw() % 20 != 0) continue;
      state.reset_row(row);
      begin(row);
    }
    std::vector<at::Tensor> inputs;
    int64_t longest = 0;
    for (const int64_t row : rows) {
      const auto i = static_cast<size_t>(row);
      inputs.push_back(ids[i].narrow(1, at_position[i], 1));
      longest = std::max(longest, at_position[i] + 1);
    }
    if (reserves) state.reserve(longest, device());
    const at::Tensor logits = logits_of(model, at::cat(inputs), &state, rows);
    for (size_t b = 0; b < rows.size(); ++b) {
      const auto i = static_cast<size_t>(rows[b]);
      const at::Tensor expected = alone[i].select(1, at_position[i]++)[0];
      const at::Tensor ours = logits[static_cast<int64_t>(b)][0];
      REQUIRE((ours - expected).abs().max().item<float>() < 2e-4);
      REQUIRE(ours.argmax().item<int64_t>() == expected.argmax().item<int64_t>());
    }
  }
}

}  // namespace

TEST_CASE("a row decodes the same alone and in a batch that others join and leave") {
  for (const auto& spec : {parts_spec(), windowed_spec(), dynamic_spec(), hybrid_spec()}) {
    check_rows(spec, false);
  }
}

TEST_CASE("with reserved memory too") {
  for (const auto& spec : {parts_spec(), windowed_spec(), dynamic_spec()}) check_rows(spec, true);
}

TEST_CASE("rows of different lengths read several columns at once") {
  for (const auto& spec : {parts_spec(), windowed_spec(), dynamic_spec(), hybrid_spec()}) {
    PartsDecoder model(spec);
    model.materialize(device(), at::kFloat, 6);
    const at::NoGradGuard no_grad;
    const at::Tensor ids = some_ids({2, 11});
    SequenceState state(4, 2);
    logits_of(model, ids.narrow(0, 1, 1).narrow(1, 0, 4), &state, {1});
    const at::Tensor both =
        at::stack({ids[0].narrow(0, 0, 5), ids[1].narrow(0, 4, 5)});  // from 0 and from 4
    const at::Tensor logits = logits_of(model, both, &state);
    CHECK(state.lengths() == std::vector<int64_t>{5, 9});
    for (const int64_t row : {0, 1}) {
      SequenceState own(4);
      const int64_t before = row == 0 ? 0 : 4;
      const at::Tensor mine = ids.narrow(0, row, 1);
      if (before > 0) logits_of(model, mine.narrow(1, 0, before), &own);
      const at::Tensor alone = logits_of(model, mine.narrow(1, before, 5), &own);
      CHECK((logits[row] - alone[0]).abs().max().item<float>() < 2e-4);
    }
  }
}

TEST_CASE("layers have the mixer and the feed-forward that the spec makes for each") {
  PartsDecoder model(hybrid_spec());
  model.materialize(device(), at::kFloat, 5);
  CHECK(model.find_block("layers.0.self_attn.q_proj") != nullptr);
  CHECK(model.find_block("layers.1.self_attn") == nullptr);
  CHECK(model.find_block("layers.1.average.proj") != nullptr);
  CHECK(model.find_block("layers.2.mlp.gate_proj") != nullptr);
  CHECK(model.find_block("layers.3.squared.up") != nullptr);
  const s2s::ShardPlan plan = model.configure_model({});
  REQUIRE(plan.attentions.size() == 2);
  CHECK(plan.attentions[1].module == "layers.2.self_attn");
  logits_of(model, some_ids({2, 7})).square().sum().backward();
  for (const s2s::NamedTensor& parameter : model.named_parameters()) {
    INFO(parameter.name);
    CHECK(parameter.tensor->grad().defined());
  }
}

namespace {

std::vector<PartsDecoder*> stages_of(std::vector<std::unique_ptr<PartsDecoder>>& own,
                                     DecoderSpec spec, const std::vector<int64_t>& cuts) {
  std::vector<PartsDecoder*> stages;
  for (size_t i = 0; i + 1 < cuts.size(); ++i) {
    spec.stage = {cuts[i], cuts[i + 1]};
    own.push_back(std::make_unique<PartsDecoder>(spec));
    own.back()->materialize(device(), at::kFloat, 5);
    stages.push_back(own.back().get());
  }
  return stages;
}

/// The stages one after the other, each with a state of its own.
at::Tensor through(const std::vector<PartsDecoder*>& stages, at::Tensor x,
                   std::vector<std::unique_ptr<SequenceState>>* states = nullptr) {
  for (size_t i = 0; i < stages.size(); ++i) {
    x = logits_of(*stages[i], x, states != nullptr ? (*states)[i].get() : nullptr);
  }
  return x;
}

}  // namespace

TEST_CASE("stages of a decoder compute together what the whole computes, bit for bit") {
  for (DecoderSpec spec : {parts_spec(), windowed_spec(), hybrid_spec()}) {
    for (const bool tied : {false, true}) {
      spec.shape.tied_head = tied;
      PartsDecoder whole(spec);
      whole.materialize(device(), at::kFloat, 5);
      std::vector<std::unique_ptr<PartsDecoder>> own;
      const std::vector<PartsDecoder*> stages = stages_of(own, spec, {0, 1, 1, 3, 4});
      std::vector<std::string> names;
      for (PartsDecoder* const stage : stages) {
        for (const auto& parameter : stage->named_parameters()) names.push_back(parameter.name);
      }
      CHECK(names.size() == whole.named_parameters().size() + (tied ? 1 : 0));
      const at::NoGradGuard no_grad;
      const at::Tensor ids = some_ids({2, 9});
      CHECK(at::equal(through(stages, ids), logits_of(whole, ids)));
      SequenceState state(4);
      std::vector<std::unique_ptr<SequenceState>> states;
      for (size_t i = 0; i < stages.size(); ++i)
        states.push_back(std::make_unique<SequenceState>(4));
      for (int64_t t = 0; t < 9; ++t) {
        const at::Tensor one = ids.narrow(1, t, 1);
        CHECK(at::equal(through(stages, one, &states), logits_of(whole, one, &state)));
      }
    }
  }
}

TEST_CASE("a stage reads its part of a whole model's files") {
  const TemporaryFolder folder;
  DecoderSpec spec = parts_spec();
  PartsDecoder whole(spec);
  whole.materialize(device(), at::kFloat, 9);
  const std::string path = folder / "model.safetensors";
  s2s::write_safetensors(path, s2s::export_weights(whole, whole.checkpoint_names()));
  spec.weights_path = path;
  std::vector<std::unique_ptr<PartsDecoder>> own;
  const std::vector<PartsDecoder*> stages = stages_of(own, spec, {0, 2, 4});
  const at::NoGradGuard no_grad;
  const at::Tensor ids = some_ids({2, 9});
  CHECK(at::equal(through(stages, ids), logits_of(whole, ids)));
}

TEST_CASE("positions that a caller gives are those of the columns") {
  PartsDecoder model(parts_spec());
  model.materialize(device(), at::kFloat, 5);
  const at::NoGradGuard no_grad;
  const at::Tensor ids = some_ids({2, 6});
  SequenceInfo info;
  info.positions.end = 6;
  const auto logits = [&] { return model.logits(model(model.embed(ids), info)); };
  CHECK(at::equal(logits(), logits_of(model, ids)));
  info.positions.own_N = at::arange(6, at::kLong).to(device());
  CHECK(at::equal(logits(), logits_of(model, ids)));
  // Rotary scores depend on differences only: the same columns, later in a text.
  info.positions.own_N = info.positions.own_N + 3;
  info.positions.end = 9;
  CHECK((logits() - logits_of(model, ids)).abs().max().item<float>() < 2e-4);
  info.positions.own_N = info.positions.own_N * 2;
  info.positions.end = 17;
  CHECK((logits() - logits_of(model, ids)).abs().max().item<float>() > 1e-2);
}

namespace {

constexpr const char* kSaved = "S2S_TEST_SAVED_STATE";

/// Continues a saved state, and writes the logits beside it.
void continue_saved(const std::string& path) {
  PartsDecoder model(hybrid_spec());
  model.materialize(device(), at::kFloat, 5);
  const at::NoGradGuard no_grad;
  SequenceState state(4);
  state.load(path, device());
  const at::Tensor ids = at::arange(8, at::kLong).view({2, 4}).to(device());
  std::vector<at::Tensor> logits;
  for (int64_t t = 0; t < 4; ++t) {
    logits.push_back(logits_of(model, ids.narrow(1, t, 1), &state));
  }
  s2s::write_safetensors(path + ".logits", {{"logits", at::cat(logits, 1).cpu()}});
}

}  // namespace

TEST_CASE("another process continues a saved state, bit for bit") {
  if (const char* const path = std::getenv(kSaved)) return continue_saved(path);
  const TemporaryFolder folder;
  const std::string path = folder / "state.safetensors";
  PartsDecoder model(hybrid_spec());
  model.materialize(device(), at::kFloat, 5);
  const at::NoGradGuard no_grad;
  SequenceState state(4, 2);
  logits_of(model, some_ids({1, 5}), &state, {1});
  logits_of(model, some_ids({2, 3}), &state);
  state.save(path);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::setenv(kSaved, path.c_str(), 1);
    ::execl("/proc/self/exe", "core_nn_decoder_test", "-tc=another process continues*", nullptr);
    ::_exit(127);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
  const at::Tensor theirs = s2s::WeightFiles::open(path + ".logits").tensor("logits");
  const at::Tensor ids = at::arange(8, at::kLong).view({2, 4}).to(device());
  for (int64_t t = 0; t < 4; ++t) {
    const at::Tensor ours = logits_of(model, ids.narrow(1, t, 1), &state).cpu();
    CHECK(at::equal(ours, theirs.narrow(1, t, 1)));
  }
}
