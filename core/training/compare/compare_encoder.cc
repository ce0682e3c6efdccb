#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "compare/compare.h"
#include "s2s/kinds/codec.h"
#include "s2s/kinds/encoder.h"
#include "s2s/nn/weights.h"

namespace s2s {

/// [B, T] bool: true before each row's length.
static at::Tensor before_lengths(const at::Tensor& lengths_B, int64_t width) {
  return at::arange(width).unsqueeze(0) < lengths_B.to(at::kCPU).unsqueeze(1);
}

void compare_encoder(const CompareJob& job, Comparison& comparison) {
  const ReferenceFile& file = job.reference;
  const std::unique_ptr<Encoder> encoder = build_from_reference<Encoder>(job);
  encoder->materialize(job.settings.device, job.settings.dtype, 0);
  load_weights(*encoder, encoder->checkpoint_names(), file.weights, file.path);
  encoder->train(false);
  const EncoderOutput output = encoder->forward(file.input("audio").to(job.settings.device),
                                                file.input("lengths").to(job.settings.device));
  comparison.add("output/mel", output.mel_BFT, file.output("mel"));
  comparison.add("output/lengths", output.lengths_B, file.output("lengths"));
  const at::Tensor features = file.output("features");
  if (!features.defined()) return;
  const at::Tensor lengths =
      file.output("lengths").defined() ? file.output("lengths") : output.lengths_B;
  comparison.add("output/features", output.features_BTH, features,
                 before_lengths(lengths, features.size(1)).unsqueeze(-1));
}

void compare_codec(const CompareJob& job, Comparison& comparison) {
  const at::NoGradGuard no_grad;
  const ReferenceFile& file = job.reference;
  const std::unique_ptr<Codec> codec = build_from_reference<Codec>(job);
  codec->materialize(job.settings.device, at::kFloat, 0);  // codecs are always float32
  load_weights(*codec, codec->checkpoint_names(), file.weights, file.path);
  codec->train(false);
  const auto [codes_BKT, lengths_B] = codec->encode(file.input("audio").to(job.settings.device),
                                                    file.input("lengths").to(job.settings.device));
  comparison.add("output/lengths", lengths_B, file.output("lengths"));
  const at::Tensor codes = file.output("codes");
  if (codes.defined()) {
    comparison.add("output/codes", codes_BKT, codes,
                   before_lengths(lengths_B, codes.size(2)).unsqueeze(1));
  }
  if (!file.output("audio").defined()) return;
  // The reference's own codes, so that one code at a decision's edge does not fail the decoder.
  const at::Tensor from = codes.defined() ? codes.to(job.settings.device) : codes_BKT;
  comparison.add("output/audio", codec->decode(from), file.output("audio"));
}

}  // namespace s2s
