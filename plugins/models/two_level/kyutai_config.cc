// Kyutai's config.json: the arguments of its class LMModel.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "kyutai.h"
#include "s2s/model_parts.h"
#include "two_level_errors.h"

namespace s2s::two_level {
namespace {

/// Arguments that can change the result, with supported values, the usual one first. Null is always
/// accepted.
const std::map<std::string, std::vector<std::string>>& fixed_arguments() {
  static const std::map<std::string, std::vector<std::string>> kFixed = {
      {"causal", {"true"}},
      {"gating", {"silu"}},
      {"norm", {"rms_norm_f32"}},
      {"positional_embedding", {"rope"}},
      {"depformer_gating", {"silu"}},
      {"depformer_causal", {"true"}},
      {"depformer_pos_emb", {"none"}},
      {"depformer_multi_linear", {"true"}},
      {"depformer_weights_per_step", {"true"}},
      {"demux_second_text_stream", {"false"}},
      {"cross_attention", {"false"}},
      {"norm_emb", {"false"}},
      {"bias_proj", {"false"}},
      {"quantize", {"false"}},
      {"extra_heads_num_heads", {"0"}},
      {"layer_scale", {}},
      {"depformer_layer_scale", {}},
      {"depformer_norm", {}},
      {"depformer_low_rank_embeddings", {}},
      {"depformer_weights_per_step_schedule", {}},
      {"conditioners", {"{}"}},
      {"fuser", {}},
      {"text_card_out", {}},
      {"lora", {"false"}}};
  return kFixed;
}

/// True for supported arguments and for keys without effect: file names, generation.
bool is_read(const std::string& name) {
  static const std::set<std::string> kRead = {
      "dim", "text_card", "n_q", "dep_q", "card", "num_heads", "num_layers", "hidden_scale",
      "context", "max_period", "delays", "depformer_dim", "depformer_dim_feedforward",
      "depformer_num_heads", "depformer_num_layers",
      // without effect
      "depformer_context", "depformer_max_period", "existing_text_padding_id",
      "existing_text_end_padding_id", "extra_heads_dim", "model_type", "model_id", "moshi_name",
      "mimi_name", "mimi_config_name", "tokenizer_name", "lm_gen_config", "version"};
  return kRead.count(name) != 0;
}

constexpr int64_t kLargestSize = int64_t{1} << 30;
constexpr double kLargestScale = 1000;

class Arguments {
 public:
  explicit Arguments(const Config& foreign) : foreign_(foreign) {
    for (const auto& [name, value] : foreign.entries()) {
      if (value.is_null() || is_read(name)) continue;
      const auto fixed = fixed_arguments().find(name);
      if (fixed == fixed_arguments().end()) {
        throw_not_translated(name, value, "an argument of Kyutai's LMModel that s2s knows");
      }
      const std::vector<std::string>& allowed = fixed->second;
      bool is_allowed = !value.is_scalar() && value.items().empty() && value.entries().empty();
      for (const std::string& text : allowed) is_allowed = is_allowed || value.text() == text;
      if (!is_allowed) {
        throw_not_translated(name, value, allowed.empty() ? "null" : allowed.front());
      }
    }
  }

  /// Every number is a size. `least`: the smallest one that makes sense.
  int64_t number(const std::string& name, int64_t otherwise, int64_t least = 1) const {
    const Config* value = foreign_.find(name);
    if (value == nullptr || value->is_null()) return otherwise;
    const int64_t size = value->as_int(name);
    if (size < least || size > kLargestSize) {
      throw_not_translated(name, *value,
                           std::to_string(least) + " to " + std::to_string(kLargestSize));
    }
    return size;
  }

  /// Rows of gate and value together, in a layer of width `width`.
  int64_t gated_width(int64_t width, int64_t feedforward) const {
    return 2 * (feedforward == 4 * width ? 21 * width / 8 : 2 * feedforward / 3);
  }

  int64_t feedforward(int64_t width) const {
    const Config* scale = foreign_.find("hidden_scale");
    const bool is_given = scale != nullptr && !scale->is_null();
    const double factor = is_given ? scale->as_double("hidden_scale") : 4.125;
    const double inner = factor * static_cast<double>(width);
    if (is_given && !(inner >= 1 && factor <= kLargestScale)) {
      throw_not_translated("hidden_scale", *scale, "a factor that makes a width, such as 4.125");
    }
    return static_cast<int64_t>(inner);
  }

  /// Requires streams of agent and user with text. Only the later books are one frame late.
  void check_delays(int64_t books) const {
    const Config* delays = foreign_.find("delays");
    if (delays == nullptr) return;
    for (size_t i = 0; i < delays->items().size(); ++i) {
      const bool is_late = i > 0 && (static_cast<int64_t>(i) - 1) % books != 0;
      if (delays->items()[i].as_int("delays") != (is_late ? 1 : 0)) {
        throw_not_translated("delays", delays->items()[i],
                             "0 for the text and for the first book of each speaker, else 1");
      }
    }
  }

 private:
  const Config& foreign_;
};

Config scalar(int64_t value) { return Config::scalar(std::to_string(value)); }

}  // namespace

bool is_kyutai_config(const Config& foreign) {
  return foreign.find("dep_q") != nullptr && foreign.find("depformer_dim") != nullptr;
}

Config kyutai_to_hf(const Config& foreign) {
  const Arguments arguments(foreign);
  const int64_t width = arguments.number("dim", 4096);
  const int64_t depth_width = arguments.number("depformer_dim", 1024);
  const int64_t books = arguments.number("n_q", 16, /*least=*/2) / 2;
  arguments.check_delays(books);
  if (arguments.number("dep_q", books) < books) {
    throw_not_translated("dep_q", *foreign.find("dep_q"), "n_q / 2 or more: the agent's books");
  }
  Config hf = Config::map();
  hf["model_type"] = Config::scalar("moshi");
  hf["vocab_size"] = scalar(arguments.number("text_card", 32000));
  hf["hidden_size"] = scalar(width);
  hf["num_hidden_layers"] = scalar(arguments.number("num_layers", 32));
  hf["num_attention_heads"] = scalar(arguments.number("num_heads", 32));
  hf["ffn_dim"] = scalar(arguments.gated_width(width, arguments.feedforward(width)));
  hf["audio_vocab_size"] = scalar(arguments.number("card", 2048));
  hf["num_codebooks"] = scalar(books);
  hf["sliding_window"] = scalar(arguments.number("context", 3000));
  hf["rope_theta"] = scalar(arguments.number("max_period", 10000));
  Config& depth = hf["depth_decoder_config"];
  depth["model_type"] = Config::scalar("moshi_depth");
  depth["hidden_size"] = scalar(depth_width);
  depth["num_hidden_layers"] = scalar(arguments.number("depformer_num_layers", 6));
  depth["num_attention_heads"] = scalar(arguments.number("depformer_num_heads", 16));
  depth["ffn_dim"] = scalar(arguments.gated_width(
      depth_width,
      arguments.number("depformer_dim_feedforward", arguments.feedforward(depth_width))));
  return hf;
}

}  // namespace s2s::two_level
