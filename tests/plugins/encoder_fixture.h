#pragma once
// Encoders that read Hugging Face folders, built through the host, and such folders. Shape letters:
// B batch, S samples, T frames, H width.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/places.h"
#include "common/temporary_folder.h"
#include "compare/compare.h"
#include "compare/reference_file.h"
#include "plan/plan_check.h"
#include "plugins/built_plugins.h"
#include "s2s/conformance.h"
#include "s2s/error.h"
#include "s2s/kinds/encoder.h"
#include "s2s/nn/weights.h"
#include "weights/safetensors.h"

namespace s2s::test {

class EncoderPlugins {
 public:
  /// `json`: the options, with the name.
  std::unique_ptr<Encoder> create(const std::string& json) {
    BuildContext context;
    context.path = "model.encoder";
    context.warn = [this](const std::string& message) { warnings.push_back(message); };
    return plugins_.create<Encoder>(parse_json(json, "test"), context);
  }
  /// The same with random weights, in eval mode.
  std::unique_ptr<Encoder> ready(const std::string& json, uint64_t seed = 3) {
    auto encoder = create(json);
    encoder->materialize(at::kCPU, at::kFloat, seed);
    encoder->train(false);
    return encoder;
  }
  Registries& registries() { return plugins_.registries(); }
  std::vector<std::string> warnings;

 private:
  BuiltPlugins plugins_;
};

inline std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return "[" + error.id() + "] " + error.message();
  }
  return "no error";
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline double distance(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() != b.sizes() ? 1e9 : a.numel() == 0 ? 0 : (a - b).abs().max().item<double>();
}

inline int64_t count_parameters(Block& block) {
  int64_t count = 0;
  for (const NamedTensor& parameter : block.named_parameters()) {
    int64_t elements = 1;
    for (const int64_t size : parameter.sizes) elements *= size;
    count += elements;
  }
  return count;
}

inline at::Tensor features_of(Encoder& encoder, const at::Tensor& audio_BS) {
  const at::Tensor lengths = at::full({audio_BS.size(0)}, audio_BS.size(1), at::kLong);
  return encoder.forward(audio_BS, lengths).features_BTH;
}

inline bool plan_holds(Encoder& encoder, int64_t tensor) {
  PlanCheckInputs inputs;
  inputs.mesh.tensor = tensor;
  const Findings findings = check_plan(encoder, encoder.configure_model(inputs.mesh), inputs);
  if (!findings.empty()) MESSAGE(findings.errors()[0].what());
  return findings.empty();
}

inline void check_promises(Encoder& encoder) {
  for (const auto& broken : conformance::broken_promises(encoder)) CHECK_MESSAGE(false, broken);
}

inline std::string read_text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline std::string reference_place(const std::string& name) {
  return source_dir() + "/tests/reference/data/" + name + ".safetensors";
}

/// Runs a reference file, and checks what compare does not: lengths and widths by number.
inline void check_reference(EncoderPlugins& plugins, const std::string& name) {
  CAPTURE(name);
  const ReferenceFile file = read_reference(reference_place(name));
  const CompareSettings settings;
  for (const TensorDifference& row : compare_reference({file, settings, plugins.registries()})) {
    CHECK_MESSAGE(row.pass, row.name << " " << row.largest_absolute << " " << row.note);
  }
  if (file.inputs.count("audio") == 0) return;
  const auto& component = plugins.registries().get<Encoder>(file.name);
  BuildContext context;
  context.path = "model.encoder";
  const auto encoder = component.create(component.translate(file.options), context);
  encoder->materialize(at::kCPU, at::kFloat, 1);
  encoder->train(false);
  const at::Tensor audio = file.input("audio"), lengths = file.input("lengths");
  const EncoderOutput out = encoder->forward(audio, lengths);
  CHECK(out.features_BTH.size(1) == encoder->output_width(audio.size(1)));
  for (int64_t row = 0; row < audio.size(0); ++row) {
    CHECK(encoder->output_frames(lengths[row].item<int64_t>()) ==
          file.output("lengths")[row].item<int64_t>());
  }
}

/// A Hugging Face folder with the configuration and the weights of a reference file.
class EncoderFolder {
 public:
  /// `prefix` is put before the names of the weights.
  explicit EncoderFolder(const std::string& reference, const std::string& prefix = "")
      : file_(read_reference(reference_place(reference))) {
    const SafetensorsFile source = SafetensorsFile::open(reference_place(reference));
    const auto& metadata = source.metadata();
    folder.write("config.json", metadata.at("options"));
    const auto front_end = metadata.find("preprocessor");
    if (front_end != metadata.end()) folder.write("preprocessor_config.json", front_end->second);
    for (const auto& [name, tensor] : file_.weights) weights[prefix + name] = tensor;
  }
  void write_weights() { write_safetensors(folder / "model.safetensors", weights); }
  std::string options(const std::string& more = "") const {
    return R"({"name": ")" + file_.name + R"(", "path": ")" + folder.path().string() + "\"" + more +
           "}";
  }
  const ReferenceFile& file() const { return file_; }

  TemporaryFolder folder;
  TensorMap weights;

 private:
  ReferenceFile file_;
};

}  // namespace s2s::test
