// Phi-3 mini and medium, and Phi-3.5 mini, in Hugging Face's format, whose files hold queries, keys
// and values in one tensor, and gate and up in another. Long contexts have LongRoPE.
// Source: Abdin et al. 2024, arXiv 2404.14219; transformers Phi3Config, modeling_phi3.py.

#include "s2s/nn/decoder_family.h"
#include "s2s/plugin.h"

namespace s2s::phi3 {
namespace {

struct Preset : DecoderSizes {
  int64_t window;
};
// clang-format off
// Values of the published config.json files.
constexpr Preset kPresets[] = {
    // name           vocabulary hidden inner layers heads kv head  window
    {{"phi_3_mini_4k", 32064, 3072, 8192, 32, 32, 32, 96}, 2047},
    {{"phi_3_medium_4k", 32064, 5120, 17920, 40, 40, 10, 128}, 2047},
};
// clang-format on

struct Phi3Options : DecoderOptions {
  std::string preset = "none";
  WindowOptions windows;
  void visit(OptionVisitor& v) {
    v("preset", preset, "sizes of a published model; explicit keys take precedence",
      one_of(preset_names(kPresets)));
    DecoderOptions::visit(v);
    windows.visit(v);
  }
};

RopeTypes rope_types() {
  return {{"default", RotaryScaling::kNone}, {"longrope", RotaryScaling::kLongRope}};
}

/// The file with the type's present name: the first files of Phi-3 have "su" or "yarn". The
/// original length is that of the file's top level, which the class has always.
/// Source: transformers Phi3Config, convert_rope_params_to_dict.
Config with_present_names(const Config& foreign) {
  Config file = foreign;
  for (const char* const block : {"rope_scaling", "rope_parameters"}) {
    const Config* const scaling = file.find(block);
    if (scaling == nullptr || !scaling->is_map()) continue;
    bool is_long = false;
    for (const char* const key : {"type", "rope_type"}) {
      const Config* const type = scaling->find(key);
      if (type == nullptr || !type->is_scalar()) continue;
      const bool is_old = type->text() == "su" || type->text() == "yarn";
      if (is_old) file[block][key] = Config::scalar("longrope", true);
      is_long = is_long || is_old || type->text() == "longrope";
    }
    if (!is_long) continue;
    const Config* const length = file.find("original_max_position_embeddings");
    const bool has_length = length != nullptr && !length->is_null();
    file[block]["original_max_position_embeddings"] = has_length ? *length : Config::scalar("4096");
  }
  return file;
}

struct Phi3 : DecoderFamily {
  using Options = Phi3Options;
  static constexpr const char* kName = "phi3";
  static constexpr const char* kSummary =
      "Phi-3 decoders: Llama's layers with a window, and joined tensors in files";
  static constexpr const char* kTiny = R"({"vocab_size": 50, "hidden_size": 32,
    "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "sliding_window": 3})";
  static std::vector<PublishedWeights> weights() {
    return {{"microsoft/Phi-3-mini-4k-instruct", "MIT"}};
  }

  static Phi3Options defaults_for(const Config& node) {
    Phi3Options options;
    const Preset* preset = chosen_preset(node, kPresets);
    if (preset == nullptr) return options;
    options.preset = preset->name;
    set_sizes(*preset, options);
    options.rms_norm_eps = 1e-5;
    options.max_position_embeddings = 4096;
    options.pad_token_id = 32000;
    options.windows.sliding_window = preset->window;
    return options;
  }
  static DecoderSpec spec_of(const Phi3Options& options, const std::string& path) {
    DecoderSpec spec = decoder_spec(options, rope_types(), path);
    set_windows(options.windows, path, spec);
    return spec;
  }
  static Config from_hf(const Config& foreign) {
    ConfigRules rules{{"phi3"}, rope_types()};
    rules.options = {"sliding_window"};
    // Read for longrope only, where it has been moved.
    rules.ignored = {"original_max_position_embeddings"};
    rules.harmless = {{"attention_bias", {"false"}},
                      {"mlp_bias", {"false"}},
                      {"resid_pdrop", {"0.0", "0"}},
                      {"embd_pdrop", {"0.0", "0"}}};
    rules.defaults = {{"rms_norm_eps", "1e-5"},
                      {"sliding_window", "null"},
                      {"pad_token_id", "32000"},
                      {"max_position_embeddings", "4096"}};
    return decoder_from_hf(with_present_names(foreign), rules);
  }
  static Config to_hf(const Phi3Options& options, const DecoderSpec& spec) {
    if (has_mixed_windows(spec) || spec.qkv_bias || spec.mlp_bias)
      return {};  // no class of transformers has it
    Phi3Options full = options;
    full.head_dim = spec.shape.head_dim;
    full.num_key_value_heads = spec.shape.num_key_value_heads;
    Config foreign = decoder_to_hf(write_options(full), "phi3", "Phi3ForCausalLM");
    for (const char* key : {"layer_types", "attention_bias", "mlp_bias"}) foreign.erase(key);
    foreign["pad_token_id"];  // its default is no null
    // The class takes the length of the top level, 4096 without it.
    if (const Config* length = foreign.find_path("rope_scaling.original_max_position_embeddings")) {
      const Config copy = *length;
      foreign["original_max_position_embeddings"] = copy;
    }
    return foreign;
  }
};

/// Rules with one name on the right are rows of that tensor, in this order.
class Phi3Decoder : public FamilyDecoder<Phi3> {
 public:
  using FamilyDecoder<Phi3>::FamilyDecoder;
  NameMap checkpoint_names() const override {
    NameMap map = FamilyDecoder<Phi3>::checkpoint_names();
    for (const char* part : {"q_proj", "k_proj", "v_proj"}) {
      map.other_spellings.push_back({std::string("layers.*.self_attn.") + part + ".weight",
                                     "model.layers.*.self_attn.qkv_proj.weight"});
    }
    for (const char* part : {"gate_proj", "up_proj"}) {
      map.other_spellings.push_back({std::string("layers.*.mlp.") + part + ".weight",
                                     "model.layers.*.mlp.gate_up_proj.weight"});
    }
    return map;
  }
};

std::unique_ptr<Backbone> create(const Config& options, const BuildContext& context) {
  const std::unique_ptr<Backbone> plain = create_decoder<Phi3>(options, context);
  return std::make_unique<Phi3Decoder>(static_cast<const Decoder&>(*plain).spec());
}

}  // namespace
}  // namespace s2s::phi3

S2S_PLUGIN("phi3", "0.1.0", "Apache-2.0", "llm:phi3") {
  s2s::Component<s2s::Backbone> component = s2s::decoder_component<s2s::phi3::Phi3>();
  component.create = s2s::phi3::create;
  registrar.add(std::move(component));
}
