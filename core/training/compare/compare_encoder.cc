// Compares encoders. Shape letters: B batch, S samples, F mel bands, T frames, H width.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <set>

#include "compare/compare.h"
#include "s2s/kinds/encoder.h"
#include "s2s/kinds/model_capabilities.h"
#include "s2s/nn/rows.h"
#include "s2s/nn/weights.h"

namespace s2s {
namespace {

/// Outputs that an encoder need not have, or may have in another shape.
bool is_optional(const std::string& name) {
  static const std::set<std::string> kOptional = {"layer_1", "conv_features", "normalised"};
  return kOptional.contains(name);
}

/// Every output of the encoder, by its name in the file.
TensorMap outputs_of(const CompareJob& job, Encoder& encoder) {
  const ReferenceFile& file = job.reference;
  TensorMap inputs;
  for (const auto& [name, tensor] : file.inputs) inputs[name] = tensor.to(job.settings.device);
  auto* const runs = dynamic_cast<RunsReferences*>(&encoder);
  if (runs != nullptr && inputs.contains("mel")) {
    file.input("mel_lengths");
    return runs->reference_outputs(inputs, /*training=*/false);
  }
  file.input("audio");
  file.input("lengths");
  if (runs != nullptr) return runs->reference_outputs(inputs, /*training=*/false);
  const EncoderOutput output = encoder.forward(inputs.at("audio"), inputs.at("lengths"));
  return {
      {"mel", output.mel_BFT}, {"lengths", output.lengths_B}, {"features", output.features_BTH}};
}

/// Rows of a file may be padded to another width, which is not compared: both are cut to the
/// narrower one, if all that is valid is in it.
void cut_to_one_width(at::Tensor& ours, at::Tensor& expected, int64_t dim, int64_t longest) {
  if (!ours.defined() || ours.dim() != expected.dim()) return;
  const int64_t width = std::min(ours.size(dim), expected.size(dim));
  if (width < longest) return;
  ours = ours.narrow(dim, 0, width);
  expected = expected.narrow(dim, 0, width);
}

void compare_padded(const std::string& name, at::Tensor ours, at::Tensor expected,
                    const at::Tensor& lengths_B, Comparison& comparison) {
  const bool is_mel = name == "mel";
  const int64_t dim = is_mel ? 2 : 1;
  const at::Tensor lengths = lengths_B.cpu();
  if (lengths.numel() > 0) cut_to_one_width(ours, expected, dim, lengths.max().item<int64_t>());
  if (is_optional(name) && (!ours.defined() || ours.sizes() != expected.sizes())) return;
  at::Tensor valid = length_mask(lengths, expected.size(dim));
  if (expected.dim() == 3) valid = valid.unsqueeze(is_mel ? 1 : 2);
  comparison.add("output/" + name, ours, expected, valid);
}

}  // namespace

void compare_encoder(const CompareJob& job, Comparison& comparison) {
  const at::NoGradGuard no_grad;
  const ReferenceFile& file = job.reference;
  const std::unique_ptr<Encoder> encoder = build_from_reference<Encoder>(job);
  encoder->materialize(job.settings.device, job.settings.dtype, 0);
  load_weights(*encoder, encoder->checkpoint_names(), file.weights, file.path);
  encoder->train(false);
  TensorMap actual = outputs_of(job, *encoder);
  const auto lengths_of = [&](const char* name) {
    const at::Tensor given = file.output(name);
    return given.defined() ? given : actual[name];
  };
  for (const auto& [name, expected] : file.outputs) {
    const bool is_mel = name == "mel";
    const at::Tensor lengths = name == "normalised" ? file.input("lengths")
                               : is_mel             ? lengths_of("mel_lengths")
                                                    : lengths_of("lengths");
    if (name.ends_with("lengths") || !lengths.defined() || expected.dim() < 2) {
      comparison.add("output/" + name, actual[name], expected);
    } else {
      compare_padded(name, actual[name], expected, lengths, comparison);
    }
  }
}

}  // namespace s2s
