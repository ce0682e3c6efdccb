#include "s2s/nn/conformer.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include <cmath>

#include "common/device.h"
#include "common/places.h"
#include "compare/reference_file.h"
#include "s2s/error.h"
#include "s2s/nn/mel.h"
#include "s2s/nn/weights.h"

using s2s::test::device;
using s2s::test::on_device;

namespace {

using s2s::Config;
using s2s::ConformerEncoder;
using s2s::ConformerOptions;

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return a.numel() == 0 ? 0 : (a.cpu() - b.cpu()).abs().max().item<double>();
}

Config pair(int64_t left, int64_t right) {
  return Config::list(
      {Config::scalar(std::to_string(left)), Config::scalar(std::to_string(right))});
}

ConformerOptions streaming_options() {
  ConformerOptions o;
  o.feat_in = 20;
  o.n_layers = 2;
  o.d_model = 16;
  o.subsampling = "dw_striding";
  o.subsampling_factor = 8;
  o.subsampling_conv_channels = 12;
  o.causal_downsampling = true;
  o.ff_expansion_factor = 2;
  o.n_heads = 4;
  o.att_context_size = pair(6, 1);
  o.att_context_style = "chunked_limited";
  o.conv_kernel_size = 9;
  o.conv_norm_type = "layer_norm";
  o.conv_context_size = Config::scalar("causal");
  o.dropout = o.dropout_emb = o.dropout_pre_encoder = 0;
  return o;
}

void randomize(s2s::Block& block) {
  for (s2s::NamedTensor& p : block.named_parameters()) {
    p.tensor->data().normal_(0, 0.3);
  }
}

}  // namespace

TEST_CASE("conformer gives NeMo's features from NeMo's mel and weights") {
  for (const char* name : {"nemo_fastconformer_full", "nemo_fastconformer_chunked_causal",
                           "nemo_fastconformer_look_aheads"}) {
    CAPTURE(name);
    const s2s::ReferenceFile file = s2s::read_reference(
        s2s::test::source_dir() + "/tests/reference/data/" + name + ".safetensors");
    Config encoder_node = *file.options.find("encoder");
    Config mel_node = *file.options.find("preprocessor");
    encoder_node.erase("_target_");
    mel_node.erase("_target_");
    const auto options = s2s::read_options<ConformerOptions>(encoder_node, "encoder");
    ConformerEncoder encoder(options);
    encoder.materialize(device(), at::kFloat, 1);
    encoder.train(false);
    const s2s::NameMap as_is{{{"**", "**"}}, {}};
    s2s::TensorMap of_encoder;
    for (const auto& [key, tensor] : file.weights) {
      if (key.starts_with("encoder.")) of_encoder[key.substr(8)] = tensor;
    }
    s2s::load_weights(encoder, as_is, of_encoder, name);
    s2s::MelFrontEnd front(s2s::read_options<s2s::MelOptions>(mel_node, "preprocessor"));
    front.materialize(device(), at::kFloat, 1);
    const at::Tensor fb = file.weights.at("preprocessor.featurizer.fb");
    CHECK(at::equal(fb, front.named_buffers()[1].tensor->cpu()));
    const at::Tensor lengths = file.input("lengths").to(device());
    const at::Tensor mel = front.forward(file.input("audio").to(device()), lengths);
    CHECK(largest_difference(mel.transpose(1, 2), file.output("mel")) < 5e-5);
    const auto out = encoder.forward(mel, front.frames(lengths));
    CHECK(at::equal(out.lengths_B.cpu(), file.output("lengths")));
    const at::Tensor expected = file.output("features");
    REQUIRE(out.features_BTH.sizes() == expected.sizes());
    CHECK(largest_difference(out.features_BTH, expected) < 1e-4);
  }
}

TEST_CASE("conformer on live frames equals the offline one whatever the pieces") {
  at::manual_seed(11);
  ConformerOptions sliding = streaming_options();
  sliding.att_context_style = "regular";
  sliding.att_context_size = pair(5, 0);
  ConformerOptions unlimited = streaming_options();
  unlimited.att_context_size = pair(-1, 2);
  unlimited.untie_biases = false;
  ConformerOptions adapter = streaming_options();
  adapter.subsampling_factor = 1;
  adapter.feat_out = 10;
  adapter.conv_norm_type = "batch_norm";
  for (const ConformerOptions& options : {streaming_options(), sliding, unlimited, adapter}) {
    ConformerEncoder encoder(options);
    encoder.materialize(device(), at::kFloat, 2);
    randomize(encoder);
    encoder.train(false);
    for (const int64_t frames : {0, 1, 7, 8, 15, 16, 17, 200}) {
      if (frames == 0 && options.subsampling_factor == 1) continue;
      const at::Tensor x = at::randn({2, frames + 1, 20}, device());
      const at::Tensor lengths = at::full({2}, frames, on_device(at::kLong));
      const auto offline = encoder.forward(x, lengths);
      const int64_t ready = encoder.output_frames(frames);
      CHECK(offline.lengths_B[0].item<int64_t>() == ready);
      auto stream = encoder.open_stream(2);
      std::vector<at::Tensor> pieces;
      for (int64_t begin = 0; begin < frames;) {
        const int64_t size =
            std::min<int64_t>(frames - begin, at::randint(11, {1}).item<int64_t>());
        pieces.push_back(stream->push(x.narrow(1, begin, size)));
        begin += size;
      }
      pieces.push_back(stream->finish());
      const at::Tensor live = at::cat(pieces, 1);
      REQUIRE(live.size(1) == ready);
      CHECK(largest_difference(live, offline.features_BTH.narrow(1, 0, ready)) < 1e-4);
    }
  }
}

TEST_CASE("frames beyond a row's length change nothing before it") {
  for (const bool causal : {false, true}) {
    ConformerOptions options = streaming_options();
    options.causal_downsampling = causal;
    options.att_context_size = causal ? pair(6, 1) : pair(-1, -1);
    if (!causal) options.att_context_style = "regular";
    if (!causal) options.conv_context_size = Config();
    ConformerEncoder encoder(options);
    encoder.materialize(device(), at::kFloat, 2);
    randomize(encoder);
    encoder.train(false);
    at::Tensor x = at::randn({2, 90, 20}, device());
    const at::Tensor lengths = at::tensor({89, 41}, on_device(at::kLong));
    const auto before = encoder.forward(x, lengths);
    x[1].narrow(0, 41, 49).fill_(7);
    const auto after = encoder.forward(x, lengths);
    CHECK(at::equal(before.features_BTH, after.features_BTH));
    const auto alone = encoder.forward(x.narrow(0, 1, 1).narrow(1, 0, 42), lengths.narrow(0, 1, 1));
    const int64_t valid = encoder.output_frames(41);
    CHECK(largest_difference(alone.features_BTH[0].narrow(0, 0, valid),
                             before.features_BTH[1].narrow(0, 0, valid)) < 1e-5);
  }
}

TEST_CASE("what prevents streaming is named") {
  const auto reason = [](auto change) {
    ConformerOptions options = streaming_options();
    change(options);
    ConformerEncoder encoder(options, "model.encoder.encoder");
    encoder.materialize(device(), at::kFloat, 0);
    encoder.train(false);
    try {
      encoder.open_stream(1);
    } catch (const s2s::Error& error) {
      CHECK(error.id() == "encoder/not-streamable");
      const std::string& message = error.message();
      const size_t begin = message.find("model.encoder.encoder.") + 22;
      return message.substr(begin, message.find(' ', begin) - begin);
    }
    return std::string("nothing");
  };
  CHECK(reason([](auto&) {}) == "nothing");
  CHECK(reason([](auto& o) { o.causal_downsampling = false; }) == "causal_downsampling");
  CHECK(reason([](auto& o) { o.conv_context_size = Config(); }) == "conv_context_size");
  CHECK(reason([](auto& o) { o.att_context_style = "regular"; }) == "att_context_style");
  CHECK(reason([](auto& o) {
          o.att_context_style = "regular";
          o.att_context_size = Config();
        }) == "att_context_size");
}

TEST_CASE("conformer options that are not implemented or not possible are named") {
  const auto id = [](auto change) {
    ConformerOptions options = streaming_options();
    change(options);
    try {
      options.check("encoder");
    } catch (const s2s::Error& error) {
      return error.id();
    }
    return std::string("none");
  };
  CHECK(id([](auto&) {}) == "none");
  CHECK(id([](auto& o) { o.subsampling = "striding_conv1d"; }) == "encoder/unsupported");
  CHECK(id([](auto& o) { o.self_attention_model = "rope"; }) == "encoder/unsupported");
  CHECK(id([](auto& o) { o.att_context_style = "chunked_limited_with_rc"; }) ==
        "encoder/unsupported");
  CHECK(id([](auto& o) { o.conv_norm_type = "group_norm4"; }) == "encoder/unsupported");
  CHECK(id([](auto& o) { o.conv_context_style = "dcc"; }) == "encoder/unsupported");
  CHECK(id([](auto& o) { o.stochastic_depth_drop_prob = 0.1; }) == "encoder/unsupported");
  CHECK(id([](auto& o) {
          o.reduction = "pooling";
          o.reduction_factor = 2;
        }) == "encoder/unsupported");
  CHECK(id([](auto& o) { o.att_context_size = pair(7, 1); }) == "encoder/value");
  CHECK(id([](auto& o) { o.att_context_size = pair(6, -1); }) == "encoder/value");
  CHECK(id([](auto& o) { o.n_heads = 3; }) == "encoder/value");
  CHECK(id([](auto& o) { o.subsampling_factor = 6; }) == "encoder/value");
  CHECK(id([](auto& o) { o.conv_kernel_size = 8; }) == "encoder/value");
  CHECK(id([](auto& o) { o.conv_context_size = pair(4, 3); }) == "encoder/value");
  CHECK(id([](auto& o) { o.att_context_probs = {0.5, 0.5}; }) == "encoder/value");
}

TEST_CASE(
    "look-aheads are drawn by their probabilities in training, and the first counts in eval") {
  const std::vector<Config> contexts = {pair(6, 1), pair(4, 0), pair(8, 3)};
  const std::vector<double> probabilities = {0.5, 0.2, 0.3};
  const auto with = [](const Config& context, const std::vector<double>& probs) {
    ConformerOptions options = streaming_options();
    options.att_context_size = context;
    options.att_context_probs = probs;
    auto encoder = std::make_unique<ConformerEncoder>(options);
    encoder->materialize(device(), at::kFloat, 2);
    encoder->train(false);
    return encoder;
  };
  at::manual_seed(5);
  const at::Tensor x = at::randn({1, 65, 20}, device());
  const at::Tensor lengths = at::full({1}, 65, on_device(at::kLong));
  std::vector<at::Tensor> outputs;
  for (const Config& context : contexts) {
    outputs.push_back(with(context, {})->forward(x, lengths).features_BTH);
  }
  const auto drawn = [&](ConformerEncoder& encoder) {
    const at::Tensor features = encoder.forward(x, lengths).features_BTH;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (largest_difference(features, outputs[i]) < 1e-6) return i;
    }
    return outputs.size();
  };
  const at::NoGradGuard no_grad;
  for (const bool is_given : {true, false}) {
    const auto encoder =
        with(Config::list(contexts), is_given ? probabilities : std::vector<double>());
    CHECK(drawn(*encoder) == 0);
    encoder->train();
    constexpr int kDraws = 600;
    std::vector<int> counts(outputs.size() + 1), first, again;
    for (int i = 0; i < kDraws; ++i) ++counts[drawn(*encoder)];
    CHECK(counts.back() == 0);
    for (size_t i = 0; i < probabilities.size(); ++i) {
      const double p = is_given ? probabilities[i] : 1.0 / 3;
      // Four standard deviations.
      CHECK(std::abs(counts[i] - kDraws * p) < 4 * std::sqrt(kDraws * p * (1 - p)));
    }
    // The random stream decides, as on another rank with the same seed.
    for (std::vector<int>* const draws : {&first, &again}) {
      at::manual_seed(9);
      for (int i = 0; i < 20; ++i) draws->push_back(static_cast<int>(drawn(*encoder)));
    }
    CHECK(first == again);
  }
}

TEST_CASE("a stream's caches by NeMo's names have its steps, and need a limit on the left") {
  ConformerOptions options = streaming_options();  // [6, 1], a factor of 8, a kernel of 9
  ConformerEncoder encoder(options);
  encoder.materialize(device(), at::kFloat, 2);
  encoder.train(false);
  const s2s::TensorMap steps = encoder.stream_steps(at::randn({2, 60, 20}, device()));
  CHECK(steps.size() == 3 * 5);  // 9 + 16 + 16 + 16 + 3 frames
  const std::vector<int64_t> lengths = {2, 4, 6, 6, 6};
  for (size_t i = 0; i < lengths.size(); ++i) {
    const std::string step = "step" + std::to_string(i);
    const at::Tensor channel = steps.at(step + "_last_channel");
    CHECK(channel.sizes().vec() == std::vector<int64_t>{2, 2, 6, 16});
    CHECK(steps.at(step + "_last_time").sizes().vec() == std::vector<int64_t>{2, 2, 16, 8});
    CHECK(steps.at(step + "_last_channel_len").eq(lengths[i]).all().item<bool>());
    CHECK(channel.narrow(2, 0, 6 - lengths[i]).eq(0).all().item<bool>());
    CHECK(channel.narrow(2, 6 - lengths[i], lengths[i]).ne(0).any(-1).all().item<bool>());
  }
  options.att_context_size = pair(-1, 1);
  ConformerEncoder unlimited(options);
  unlimited.materialize(device(), at::kFloat, 2);
  unlimited.train(false);
  CHECK(unlimited.stream_steps(at::randn({1, 30, 20}, device())).empty());
}

TEST_CASE("the plan has exactly one row for every parameter") {
  ConformerOptions options = streaming_options();
  options.untie_biases = false;
  ConformerEncoder encoder(options);
  const s2s::ShardPlan plan = encoder.configure_model();
  for (const s2s::NamedTensor& parameter : encoder.named_parameters()) {
    const std::string module = parameter.name.substr(0, parameter.name.rfind('.'));
    CAPTURE(parameter.name);
    // A row is for its module and all below it.
    int64_t rows = 0;
    for (std::string at = module; !at.empty(); at.resize(at.rfind('.') + 1 ? at.rfind('.') : 0)) {
      rows += std::count_if(plan.rows.begin(), plan.rows.end(), [&](const s2s::TensorRow& row) {
        return s2s::path_matches(row.module, at);
      });
    }
    CHECK(rows == 1);
  }
}
