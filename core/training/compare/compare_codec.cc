// Comparison of codecs.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "compare/compare.h"
#include "s2s/kinds/codec.h"
#include "s2s/kinds/model_capabilities.h"
#include "s2s/nn/rows.h"
#include "s2s/nn/weights.h"

namespace s2s {
namespace {

/// The actual tensor in the layout of the expected one: mono audio is [B, S] or [B, 1, S], latents
/// are [B, T, D] or [B, D, T].
at::Tensor as_expected(const std::string& name, const at::Tensor& ours,
                       const at::Tensor& expected) {
  if (!ours.defined() || ours.sizes() == expected.sizes()) return ours;
  if (ours.dim() == 2 && expected.dim() == 3) return ours.unsqueeze(1);
  if (ours.dim() == 3 && expected.dim() == 2 && ours.size(1) == 1) return ours.squeeze(1);
  const bool is_latent = name == "latents" || name == "quantized";
  return is_latent && ours.dim() == 3 ? ours.transpose(1, 2) : ours;
}

at::Tensor mono(const at::Tensor& audio) {
  return audio.dim() == 3 && audio.size(1) == 1 ? audio.squeeze(1) : audio;
}

/// A codec that knows the names of the file gives all outputs. It gets all inputs, the codes of the
/// file to decode (one of ours at a rounding boundary would fail the decoder), and the number
/// `first_books` of the metadata.
void compare_known_outputs(const CompareJob& job, Codec& codec, RunsReferences& runs,
                           Comparison& comparison) {
  const ReferenceFile& file = job.reference;
  TensorMap inputs;
  for (const auto& [name, tensor] : file.inputs) inputs[name] = tensor.to(job.settings.device);
  const at::Tensor codes = file.output("codes");
  if (codes.defined()) inputs["codes"] = codes.to(job.settings.device);
  if (file.first_books) inputs["first_books"] = at::full({}, *file.first_books, at::kLong);
  for (const char* const name : {"scales", "chunk_frames"}) {
    if (file.output(name).defined()) inputs[name] = file.output(name).to(job.settings.device);
  }
  TensorMap actual = runs.reference_outputs(inputs, /*training=*/false);
  if (actual.count("codes") == 0) {
    actual["codes"] = codec.encode(mono(inputs.at("audio")), inputs.at("lengths")).first;
  }
  const at::Tensor frames_B = file.output("lengths");
  for (const auto& [name, expected] : file.outputs) {
    const auto it = actual.find(name);
    const at::Tensor ours =
        as_expected(name, it == actual.end() ? at::Tensor() : it->second, expected);
    const bool is_masked = name == "codes" && frames_B.defined() && expected.dim() == 3;
    comparison.add(
        "output/" + name, ours, expected,
        is_masked ? length_mask(frames_B.cpu(), expected.size(2)).unsqueeze(1) : at::Tensor());
  }
}

}  // namespace

void compare_codec(const CompareJob& job, Comparison& comparison) {
  const at::NoGradGuard no_grad;
  const ReferenceFile& file = job.reference;
  const std::unique_ptr<Codec> codec = build_from_reference<Codec>(job);
  codec->materialize(job.settings.device, at::kFloat, 0);  // codecs always run in float32
  load_weights(*codec, codec->checkpoint_names(), file.weights, file.path);
  codec->train(false);
  if (auto* const runs = dynamic_cast<RunsReferences*>(codec.get())) {
    compare_known_outputs(job, *codec, *runs, comparison);
    return;
  }
  const auto [codes_BKT, frames_B] =
      codec->encode(mono(file.input("audio")).to(job.settings.device),
                    file.input("lengths").to(job.settings.device));
  const at::Tensor lengths = file.output("lengths").defined() ? file.output("lengths") : frames_B;
  const at::Tensor codes = file.output("codes");
  if (codes.defined()) {
    comparison.add("output/codes", codes_BKT, codes,
                   length_mask(lengths.cpu(), codes.size(2)).unsqueeze(1));
  }
  comparison.add("output/lengths", frames_B, file.output("lengths"));
  if (!file.output("audio").defined()) return;
  const at::Tensor audio =
      codec->decode(codes.defined() ? codes.to(job.settings.device) : codes_BKT);
  comparison.add("output/audio", as_expected("audio", audio, file.output("audio")),
                 file.output("audio"));
}

}  // namespace s2s
