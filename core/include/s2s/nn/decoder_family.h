#pragma once
// A family of decoders as one type that says what is different about it; the component that is
// registered, its options and its sharding follow from that.
//
//   struct Acme : DecoderFamily {
//     using Options = DecoderOptions;     // or a struct of one's own that derives from it
//     static constexpr const char* kName = "acme";
//     static constexpr const char* kSummary = "Acme's decoders";
//     static constexpr const char* kTiny = R"({"vocab_size": 50, ...})";  // Component::tiny
//     static DecoderSpec spec_of(const Options& options, const std::string& path);
//     static Config from_hf(const Config& foreign);
//     static std::vector<TensorRow> tensor_rows(const DecoderSpec& spec);
//   };
//   S2S_PLUGIN("acme", "0.1.0", "Apache-2.0", "llm:acme") {
//     registrar.add(decoder_component<Acme>());
//   }

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "s2s/nn/decoder_options.h"

namespace s2s {

/// What a family need not say. Beside that, it may have
///   static Options defaults_for(const Config& node);     before the config's own keys (presets)
///   static Config to_hf(const Options& options, const DecoderSpec& spec);  for exports:
/// a config.json with which transformers computes the same; null where it has no class for it.
struct DecoderFamily {
  /// What is gathered and freed together on the data axis.
  static std::vector<UnitRow> unit_rows() { return {{"layers.*"}}; }
};

/// Sizes of a published model. A family's table has rows of this or of something that derives from
/// it.
struct DecoderSizes {
  const char* name;
  int64_t vocab_size, hidden_size, intermediate_size, num_layers, num_heads, num_kv_heads, head_dim;
};

/// The sizes as options.
void set_sizes(const DecoderSizes& sizes, DecoderOptions& options);

/// The row whose name the key `preset` has in `node`; null when it has none of them.
template <class Preset, size_t N>
const Preset* chosen_preset(const Config& node, const Preset (&presets)[N]) {
  const Config* name = node.find("preset");
  for (const Preset& preset : presets) {
    if (name != nullptr && name->is_scalar() && name->text() == preset.name) return &preset;
  }
  return nullptr;
}

/// Names that the option `preset` may have: "none", then the table's.
template <class Preset, size_t N>
std::vector<std::string> preset_names(const Preset (&presets)[N]) {
  std::vector<std::string> names = {"none"};
  for (const Preset& preset : presets) names.emplace_back(preset.name);
  return names;
}

/// The backbone of a family.
template <class Family>
class FamilyDecoder : public Decoder {
 public:
  using Decoder::Decoder;
  ShardPlan configure_model(const MeshShape&) const override {
    return plan_with(Family::tensor_rows(spec()), Family::unit_rows());
  }
};

/// The options of a family before the config's own keys.
template <class Family>
typename Family::Options family_defaults(const Config& node) {
  if constexpr (requires { Family::defaults_for(node); }) {
    return Family::defaults_for(node);
  } else {
    return {};
  }
}

/// Builds a family's decoder from its options, with the config.json of the folder `path` under
/// them. Errors: those of with_folder_config, of reading options, and of the family's spec_of.
template <class Family>
std::unique_ptr<Backbone> create_decoder(const Config& options, const BuildContext& context) {
  const Config node = with_folder_config(options, context, Family::from_hf);
  typename Family::Options read = family_defaults<Family>(node);
  Findings findings;
  OptionReader(node, context.path, findings).read(read);
  findings.throw_if_any();
  DecoderSpec spec = Family::spec_of(read, context.path);
  if constexpr (requires { Family::to_hf(read, spec); }) {
    spec.foreign_config = Family::to_hf(read, spec);
  }
  return std::make_unique<FamilyDecoder<Family>>(std::move(spec));
}

/// A family's options with their defaults, as `plugin inspect` prints them.
template <class Family>
OptionTable decoder_options() {
  using Options = typename Family::Options;
  Options defaults = family_defaults<Family>({});
  return list_options(
      [](OptionVisitor& v, void* object) { static_cast<Options*>(object)->visit(v); }, &defaults);
}

/// What a plugin adds to the registrar.
template <class Family>
Component<Backbone> decoder_component() {
  Component<Backbone> component;
  component.name = Family::kName;
  component.summary = Family::kSummary;
  component.create = create_decoder<Family>;
  component.options = decoder_options<Family>;
  component.translate = Family::from_hf;
  component.tiny = Family::kTiny;
  return component;
}

}  // namespace s2s
