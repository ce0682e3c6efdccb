#pragma once
// Makes Moshi and CSM models from the plugins of the build.

#include <functional>
#include <memory>
#include <string>

#include "common/capabilities.h"
#include "common/places.h"
#include "core/duplex/table_tokenizer.h"
#include "plugins/built_plugins.h"
#include "plugins/two_level/two_level_fixture.h"
#include "s2s/error.h"
#include "s2s/nn/weights.h"

namespace s2s::test {

struct TwoLevelModels {
  BuiltPlugins plugins;
  TableTokenizer tokenizer;
  Config data = parse_json(
      R"({"frame_length": 0.08, "source_sample_rate": 16000, "target_sample_rate": 16000})",
      "data");

  /// Both are maps, `base` without its end; `keys` wins.
  std::unique_ptr<Model> make(const std::string& base, const std::string& keys = "{}",
                              bool with_tokenizer = true) {
    Config node = parse_json(base + "}", "test.json");
    const Config more = parse_json(keys, "test.json");
    for (const auto& [key, value] : more.entries()) node[key] = value;
    ModelContext context;
    context.path = "model";
    context.data = &data;
    context.base_dir = source_dir();
    context.tokenizer = with_tokenizer ? &tokenizer : nullptr;
    auto model = plugins.create<Model>(node, context);
    model->materialize(at::kCPU, at::kFloat, 3);
    return model;
  }

  std::string id_of(const std::function<void()>& act) {
    try {
      act();
    } catch (const Error& error) {
      return error.id();
    }
    return "";
  }
};

inline constexpr const char* kMelCodec = R"({"codec": {"name": "mel_fsq", "sample_rate": 16000,
    "num_groups": 3, "decoder_iterations": 2}, "audio_vocab_size": 1000})";

/// Statistics of noise.
inline void fit_codec(Model& model) {
  int64_t clips = 0;
  codec_of(model).fit(
      [&clips] { return ++clips > 3 ? at::Tensor() : at::randn({16000}, generator_of(7)) * 0.1; });
}

inline double value(const at::Tensor& scalar) { return scalar.item<double>(); }

}  // namespace s2s::test
