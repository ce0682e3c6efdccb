#pragma once
// A codec of the least means, as a stranger to s2s writes it: the loudness of some frequency bands
// in frames of 80 ms, each in steps of some decibels; spoken back with fixed phases, as a whisper.
// Shape letters: B batch, S samples, T frames, K bands, N samples of a frame, F frequencies.

#include <memory>

#include "s2s/codec.h"
#include "s2s/config.h"
#include "s2s/options.h"
#include "s2s/registry.h"

namespace acme_bands {

struct Options {
  int64_t sample_rate = 16000;
  int64_t num_bands = 16;
  int64_t num_levels = 64;
  void visit(s2s::OptionVisitor& v) {
    v("sample_rate", sample_rate, "in Hz", s2s::between(2000, 192000));
    v("num_bands", num_bands, "frequency bands, each a codebook", s2s::between(1, 64));
    v("num_levels", num_levels, "loudness steps of a band, silence among them",
      s2s::between(2, 4096));
  }
};

class Bands : public s2s::Codec {
 public:
  explicit Bands(const Options& options);
  s2s::CodecShape shape() const override;
  std::pair<at::Tensor, at::Tensor> encode(const at::Tensor& audio_BS,
                                           const at::Tensor& lengths_B) override;
  at::Tensor decode(const at::Tensor& codes_BKT) override;
  std::unique_ptr<s2s::CodecStream> open_stream(int64_t batch_size) override;
  at::Tensor silence_codes() override;
  bool fit(const std::function<at::Tensor()>&) override { return false; }
  bool is_fitted() const override { return true; }
  s2s::NameMap checkpoint_names() const override { return {}; }

 protected:
  void reset_buffers() override;

 private:
  Options options_;
  int64_t frame_;
  at::Tensor bank_KF_;   // 1 where a frequency belongs to a band
  at::Tensor phase_F2_;  // cosine and sine of each frequency's phase
};

/// Errors: [acme/sample-rate] for a rate at which 80 ms are no whole number of samples.
std::unique_ptr<s2s::Codec> create(const s2s::Config& options, const s2s::BuildContext& context);

inline constexpr char kTiny[] = R"({"sample_rate": 16000, "num_bands": 8, "num_levels": 32})";

}  // namespace acme_bands
