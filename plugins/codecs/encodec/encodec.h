#pragma once
// EnCodec: convolutions and LSTMs around a residual quantizer. Results follow transformers'
// EncodecModel. Shape letters: B batch, C channels, S samples, K codebooks, T frames, H width.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "encodec_options.h"
#include "s2s/kinds/model_capabilities.h"
#include "s2s/nn/frame_codec.h"
#include "s2s/nn/scalar_groups.h"

namespace s2s::encodec {

/// The model of 24 kHz is causal and streams. The one of 48 kHz encodes stereo in chunks that
/// overlap, each divided by its loudness: codes are those of all chunks, one after the other, and
/// decoding takes the loudness for 1.
class Encodec : public FrameCodec, public RunsReferences {
 public:
  Encodec(const EncodecOptions& options, std::string weights_path);
  ~Encodec() override;

  CodecShape shape() const override;
  std::pair<at::Tensor, at::Tensor> encode(const at::Tensor& audio_BS,
                                           const at::Tensor& lengths_B) override;
  at::Tensor decode(const at::Tensor& codes_BKT) override;
  /// Errors: [codec/not-streamable].
  std::unique_ptr<CodecStream> open_stream(int64_t batch_size) override;
  /// Null where the codec needs whole chunks.
  std::unique_ptr<CodecEncoderStream> open_encoder_stream(int64_t batch_size) override;
  /// transformers' names, in both spellings of the weight norm.
  NameMap checkpoint_names() const override;
  /// Outputs: those of FrameCodec::peer_outputs, latents and quantized [B, H, T]; in chunks also
  /// chunk_frames, a number, and scales [B, chunks].
  std::map<std::string, at::Tensor> reference_outputs(
      const std::map<std::string, at::Tensor>& inputs, bool training) override;

 protected:
  std::unique_ptr<WeightSource> initial_values() override;
  at::Tensor encode_piece(const at::Tensor& audio_BS, StreamState& state,
                          bool is_last) const override;
  at::Tensor decode_piece(const at::Tensor& codes_BKT, StreamState& state,
                          bool is_last) const override;

 private:
  /// The codes of a recording in chunks.
  struct Chunks {
    at::Tensor codes_BKT;               // of all chunks
    int64_t chunk_frames = 0;           // of all but the last
    std::vector<at::Tensor> scales_B1;  // empty without `normalize`
    at::Tensor latents_BHT;
  };
  at::Tensor latents(const at::Tensor& audio_BCS, StreamState& state, bool is_last) const;
  at::Tensor codes_of(const at::Tensor& latents_BHT, int64_t books) const;
  /// codes [B, K, T] -> what the decoder gets, [B, H, T].
  at::Tensor quantized(const at::Tensor& codes_BKT) const;
  Chunks in_chunks(const at::Tensor& audio_BCS, int64_t books) const;
  /// `scales_BN`: of the chunks, or undefined. -> [B, C, S].
  at::Tensor from_chunks(const at::Tensor& codes_BKT, int64_t chunk_frames,
                         const at::Tensor& scales_BN) const;
  std::vector<at::Tensor> entries(int64_t books) const;
  at::Tensor decoded(const at::Tensor& codes_BKT, StreamState& state, bool is_last) const;

  EncodecOptions options_;
  std::string weights_path_;
  AudioStack encoder_, decoder_;
  std::vector<at::Tensor> books_VD_;    // of residual quantization
  std::optional<ScalarGroups> scalar_;  // instead of them
};

}  // namespace s2s::encodec
