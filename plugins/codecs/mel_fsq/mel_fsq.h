#pragma once
// A codec without training. It encodes with log-mel, 2-D cosine transform and grouped scalar
// quantization, and decodes with streaming phase reconstruction. 12.5 frames per second at every
// sample rate.

#include <atomic>
#include <string>

#include "mel_fsq_options.h"
#include "quantizer.h"
#include "s2s/kinds/codec.h"

namespace s2s::mel_fsq {

class MelFsq : public Codec {
 public:
  MelFsq(const MelFsqOptions& options, std::string path);
  ~MelFsq() override;

  CodecShape shape() const override;
  /// Errors: [codec/not-fitted].
  std::pair<at::Tensor, at::Tensor> encode(const at::Tensor& audio_BS,
                                           const at::Tensor& lengths_B) override;
  /// Equal to decoding frame by frame with a stream. Runs on the CPU.
  at::Tensor decode(const at::Tensor& codes_BKT) override;
  /// The stream returns the audio of frame t when frame t + 2 is pushed; all except its last 22 ms
  /// already with frame t + 1.
  std::unique_ptr<CodecStream> open_stream(int64_t batch_size) override;
  /// The stream returns the codes of frame t with the first samples of frame t + 1: those that the
  /// window of its last column covers.
  std::unique_ptr<CodecEncoderStream> open_encoder_stream(int64_t batch_size) override;
  at::Tensor silence_codes() override;
  /// Errors: [codec/no-audio].
  bool fit(const std::function<at::Tensor()>& next) override;
  bool is_fitted() const override;

 protected:
  void reset_buffers() override;

 private:
  class EncoderStream;

  /// audio [B, S], a multiple of the frame length -> log-mel [B, T, F].
  at::Tensor log_mel(const at::Tensor& audio_BS) const;
  /// The same for audio with the padding of its windows, its first `num_columns` columns.
  at::Tensor log_mel_of(const at::Tensor& padded_BS, int64_t num_columns) const;
  void check_fitted() const;
  Statistics statistics() const { return {mean_F_, std_F_, order_F_}; }

  MelFsqOptions options_;
  std::string path_;
  Framing framing_;
  Quantizer quantizer_;
  at::Tensor bank_FN_, window_;          // computed
  at::Tensor mean_F_, std_F_, order_F_;  // measured; all zero before
  mutable std::atomic<bool> fitted_ = false;
};

}  // namespace s2s::mel_fsq
