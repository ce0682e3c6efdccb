#pragma once
// NeMo's AudioCodecModel: NanoCodec and its relatives, with NeMo's names and results. Shape
// letters: B batch, S samples, K codebooks, T frames, D elements of a latent.

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "hifi_gan.h"
#include "s2s/kinds/codec.h"
#include "s2s/kinds/model_capabilities.h"
#include "s2s/nn/scalar_groups.h"

namespace s2s::nemo_audio_codec {

class NemoAudioCodec : public Codec, public RunsReferences {
 public:
  NemoAudioCodec(const NemoAudioCodecOptions& options, std::string weights_path);
  ~NemoAudioCodec() override;

  CodecShape shape() const override;
  /// A symmetric encoder reflects at the ends of the batch, so that a row's last codes depend on
  /// the batch's width, as in NeMo. Errors: [codec/too-short].
  std::pair<at::Tensor, at::Tensor> encode(const at::Tensor& audio_BS,
                                           const at::Tensor& lengths_B) override;
  /// Errors: [codec/code-range] on a CPU, [codec/too-short].
  at::Tensor decode(const at::Tensor& codes_BKT) override;
  /// A symmetric decoder returns everything at the end.
  std::unique_ptr<CodecStream> open_stream(int64_t batch_size) override;
  /// Null with a symmetric encoder.
  std::unique_ptr<CodecEncoderStream> open_encoder_stream(int64_t batch_size) override;
  /// The codes of the last frame of two seconds of zeros.
  at::Tensor silence_codes() override;
  /// NeMo's names; weight norm in the spellings of torch's two functions.
  NameMap checkpoint_names() const override;
  /// Inputs: audio [B, S], lengths, codes [B, K, T]. Outputs: latents and quantized [B, T, D],
  /// lengths, audio, audio_lengths; zeros beyond each row's length, as in NeMo.
  std::map<std::string, at::Tensor> reference_outputs(
      const std::map<std::string, at::Tensor>& inputs, bool training) override;

 protected:
  std::unique_ptr<WeightSource> initial_values() override;

 private:
  class Listener;
  class Speaker;
  class LateSpeaker;
  /// Audio [B, S] of whole frames -> latents [B, D, T], zeros beyond each row's frames.
  at::Tensor latents(const at::Tensor& audio_BS, const at::Tensor& frames_B) const;
  /// The same for a piece of a stream.
  at::Tensor next_latents(const at::Tensor& audio_BS, StreamState& state) const;
  /// Latents [B, D, T] -> audio [B, S]. frames_B: undefined if no row is padded.
  at::Tensor speak(const at::Tensor& latents_BDT, const at::Tensor& frames_B) const;
  at::Tensor next_audio(const at::Tensor& latents_BDT, StreamState& state) const;
  void check_codes(const at::Tensor& codes) const;
  at::Device device();

  NemoAudioCodecOptions options_;
  std::string weights_path_;
  HifiGanEncoder encoder_;
  ScalarGroups quantizer_;
  HifiGanDecoder decoder_;
};

}  // namespace s2s::nemo_audio_codec
