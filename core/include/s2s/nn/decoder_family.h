#pragma once
// Defines a family of decoders by one type that contains only the differences to other families.
// The registered component, its options and its sharding plan are derived from it.
//
//   struct Acme : DecoderFamily {
//     using Options = DecoderOptions;     // or your own struct that derives from it
//     static constexpr const char* kName = "acme";
//     static constexpr const char* kSummary = "Acme's decoders";
//     static constexpr const char* kTiny = R"({"vocab_size": 50, ...})";  // Component::tiny
//     static DecoderSpec spec_of(const Options& options, const std::string& path);
//     static Config from_hf(const Config& foreign);
//   };
//   S2S_PLUGIN("acme", "0.1.0", "Apache-2.0", "llm:acme") {
//     registrar.add(decoder_component<Acme>());
//   }

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "s2s/data/prompt_format.h"
#include "s2s/nn/decoder_options.h"

namespace s2s {

/// Defaults for a family. A family may also define
///   static Options defaults_for(const Config& node);     values under the config's keys (presets)
///   static Config to_hf(const Options& options, const DecoderSpec& spec);  for exports:
///                       the config.json for transformers; null if transformers has no class for it
struct DecoderFamily {
  /// The plan's rows for the layers and the last norm.
  static std::vector<TensorRow> tensor_rows(const DecoderSpec& spec) { return decoder_rows(spec); }
  /// Formats that prompt_format of a data set may name.
  static std::vector<PromptFormat> prompt_formats() { return {}; }
  /// Published weights that it reads.
  static std::vector<PublishedWeights> weights() { return {}; }
  /// The sharded units.
  static std::vector<UnitRow> unit_rows() { return {{"layers.*"}}; }
};

/// Sizes of a published model. A family's preset table consists of these, or of a derived struct.
struct DecoderSizes {
  const char* name;
  int64_t vocab_size, hidden_size, intermediate_size, num_layers, num_heads, num_kv_heads, head_dim;
};

/// Copies the sizes into the options.
void set_sizes(const DecoderSizes& sizes, DecoderOptions& options);

/// The row that the key `preset` of `node` names; null when there is no such key or row.
template <class Preset, size_t N>
const Preset* chosen_preset(const Config& node, const Preset (&presets)[N]) {
  const Config* name = node.find("preset");
  for (const Preset& preset : presets) {
    if (name != nullptr && name->is_scalar() && name->text() == preset.name) return &preset;
  }
  return nullptr;
}

/// The accepted values of the option `preset`: "none", then the names of the table.
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

/// The options of a family before the config's own keys are read.
template <class Family>
typename Family::Options family_defaults(const Config& node) {
  if constexpr (requires { Family::defaults_for(node); }) {
    return Family::defaults_for(node);
  } else {
    return {};
  }
}

/// Builds a family's decoder from its options. If the key `path` names a folder, its config.json
/// provides the keys that the config does not set. Errors: those of with_folder_config, of reading
/// options, and of the family's spec_of.
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

/// The component that a plugin adds to the registrar.
template <class Family>
Component<Backbone> decoder_component() {
  Component<Backbone> component;
  component.name = Family::kName;
  component.summary = Family::kSummary;
  component.create = create_decoder<Family>;
  component.options = decoder_options<Family>;
  component.translate = Family::from_hf;
  component.tiny = Family::kTiny;
  component.prompt_formats = Family::prompt_formats;
  component.weights = Family::weights();
  return component;
}

}  // namespace s2s
