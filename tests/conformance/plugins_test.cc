// This tree's plugins keep the promises that foreign ones are asked to keep.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "common/places.h"
#include "common/temporary_folder.h"
#include "core/duplex/data_files.h"
#include "core/duplex/table_tokenizer.h"
#include "plugins/built_plugins.h"
#include "s2s/conformance.h"
#include "s2s/nn/weights.h"

using namespace s2s;
using s2s::conformance::broken_promises;
using s2s::test::BuiltPlugins;

namespace {

template <class T>
std::unique_ptr<T> build(BuiltPlugins& plugins, const std::string& json) {
  s2s::ContextOf<T> context;
  context.path = "test";
  auto component = plugins.create<T>(parse_json(json, "test.json"), context);
  component->materialize(at::kCPU, at::kFloat, 5);
  return component;
}

void check_none(const conformance::Answers& answers) {
  for (const std::string& answer : answers) FAIL_CHECK(answer);
  CHECK(answers.empty());
}

}  // namespace

TEST_CASE("language models keep their promises") {
  BuiltPlugins plugins;
  for (const char* more :
       {R"("name": "llama", "tie_word_embeddings": true)",
        R"("name": "llama", "attention_bias": true)", R"("name": "tinyllama", "preset": "tiny")",
        R"("name": "gemma", "model_type": "gemma")", R"("name": "gemma", "model_type": "gemma2",
            "sliding_window": 3, "attn_logit_softcapping": 2.0)",
        R"("name": "gemma", "sliding_window": 2, "sliding_window_pattern": 2, "head_dim": 16)",
        R"("name": "qwen", "model_type": "qwen2", "tie_word_embeddings": true)",
        R"("name": "mistral", "sliding_window": 3)", R"("name": "phi3", "sliding_window": 3)",
        R"("name": "qwen", "use_sliding_window": true, "sliding_window": 3,
           "max_window_layers": 1)"}) {
    CAPTURE(more);
    const auto model =
        build<Backbone>(plugins, std::string("{") + more + R"(, "vocab_size": 50, "hidden_size": 32,
        "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2})");
    check_none(broken_promises(*model));
  }
}

TEST_CASE("encoders keep their promises, streaming or not") {
  BuiltPlugins plugins;
  for (const char* context : {R"([6, 1], "att_context_style": "chunked_limited",
                                "conv_context_size": "causal")",
                              R"([-1, -1], "att_context_style": "regular",
                                "conv_context_size": null)"}) {
    CAPTURE(context);
    const auto encoder = build<Encoder>(
        plugins, std::string(R"({"name": "fastconformer", "preprocessor": {"features": 20},
          "encoder": {"feat_in": 20, "n_layers": 2, "d_model": 16, "subsampling_conv_channels": 12,
            "ff_expansion_factor": 2, "dropout": 0.0, "dropout_pre_encoder": 0.0,
            "att_context_size": )") +
                     context + "}}");
    check_none(broken_promises(*encoder));
  }
}

TEST_CASE("codecs keep their promises") {
  BuiltPlugins plugins;
  const auto codec = build<Codec>(
      plugins, R"({"name": "mel_fsq", "sample_rate": 16000, "decoder_iterations": 2})");
  CHECK(broken_promises(*codec).size() == 1);  // no statistics yet
  at::manual_seed(3);
  int given = 0;
  codec->fit([&] { return given++ < 3 ? at::randn({32000}) * 0.1 : at::Tensor(); });
  check_none(broken_promises(*codec));
}

TEST_CASE("tokenizers keep their promises") {
  BuiltPlugins plugins;
  for (const char* style : {"gpt2", "llama3", "tinyllama", "gemma"}) {
    CAPTURE(style);
    Config config = Config::map();
    config["name"] = Config::scalar("hf");
    config["path"] = Config::scalar(s2s::test::source_dir() + "/tests/reference/data/" +
                                    "hf_tokenizer_" + style + ".json");
    const auto tokenizer = plugins.create<s2s::Tokenizer>(config);
    check_none(broken_promises(*tokenizer, {"", "the timer is set", "It's 12:30, caf\u00e9!"}));
  }
}

TEST_CASE("data sources keep their promises") {
  const s2s::test::TemporaryFolder dir;
  std::string lines;
  for (const char* id : {"a", "b", "c", "d", "e"}) {
    lines += s2s::test::cut_json(id, 1, "u.wav", "a.wav").dump() + "\n";
  }
  s2s::test::write_text(dir / "cuts.jsonl", lines);
  s2s::test::write_audio(dir / "u.wav", 16000, s2s::test::ramp(16000));
  s2s::test::write_audio(dir / "a.wav", 22050, s2s::test::ramp(22050));
  BuiltPlugins plugins;
  const s2s::test::TableTokenizer tokenizer;
  const Config data = parse_json("{}", "data");
  const auto open = [&] {
    DataContext context;
    context.path = "data.train_ds";
    context.tokenizer = &tokenizer;
    context.data = &data;
    return plugins.create<DataSource>(
        parse_json(R"({"name": "cuts", "batch_size": 2, "shuffle": true, "seed": 3,
                       "cuts_path": ")" +
                       (dir / "cuts.jsonl") + "\"}",
                   "test.json"),
        context);
  };
  check_none(broken_promises(open, 7));
}
