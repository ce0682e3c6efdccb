#pragma once
// A codec without training: log-mel, 2-D cosine transform, grouped scalar quantization, and back
// through streaming phase reconstruction. 12.5 frames a second at any sample rate.

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
  /// Equal to pushing the frames through a stream one by one; runs on the CPU.
  /// Errors: [codec/not-fitted], [codec/code-range].
  at::Tensor decode(const at::Tensor& codes_BKT) override;
  /// The audio of frame t is final when frame t + 2 has been pushed, all but its last 22 ms when
  /// frame t + 1 has.
  std::unique_ptr<CodecStream> open_stream(int64_t batch_size) override;
  at::Tensor silence_codes() override;
  /// Errors: [codec/no-audio].
  bool fit(const std::function<at::Tensor()>& next) override;
  bool is_fitted() const override;

 protected:
  void reset_buffers() override;

 private:
  /// audio [B, S] of whole frames -> log-mel [B, T, F].
  at::Tensor log_mel(const at::Tensor& audio_BS) const;
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
