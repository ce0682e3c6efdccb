#pragma once
// A codec without training. It encodes a frame of 80 ms as the loudness of frequency bands, in
// steps of decibels. The decoder gives each frequency a fixed phase, which sounds like a whisper.
// Shape letters: B batch, S samples, T frames, K bands, N samples of a frame, F frequencies.

#include <memory>

#include "s2s/kinds/codec.h"
#include "s2s/plugin.h"

namespace PLUGIN_NAME {

/// The options. `s2s-run plugin inspect COMPONENT_NAME` lists them; a configuration sets them.
struct Options {
  int64_t sample_rate = 16000;
  int64_t num_bands = 16;
  int64_t num_levels = 64;
  void visit(s2s::OptionVisitor& v) {
    v("sample_rate", sample_rate, "sample rate in Hz", s2s::between(2000, 192000));
    v("num_bands", num_bands, "number of frequency bands; one codebook per band",
      s2s::between(1, 64));
    v("num_levels", num_levels, "loudness steps of a band, including silence",
      s2s::between(2, 4096));
  }
};

/// One codebook per band. Code 0 is silence.
class Bands : public s2s::Codec {
 public:
  explicit Bands(const Options& options);
  s2s::CodecShape shape() const override;
  std::pair<at::Tensor, at::Tensor> encode(const at::Tensor& audio_BS,
                                           const at::Tensor& lengths_B) override;
  at::Tensor decode(const at::Tensor& codes_BKT) override;
  std::unique_ptr<s2s::CodecStream> open_stream(int64_t batch_size) override;
  at::Tensor silence_codes() override;

 protected:
  void reset_buffers() override;

 private:
  Options options_;
  int64_t frame_;
  at::Tensor bank_KF_;   // 1 if the frequency is in the band
  at::Tensor phase_F2_;  // cosine and sine of each frequency's phase
};

/// Errors: [PLUGIN_NAME/sample-rate] if 80 ms are not a whole number of samples at this rate.
std::unique_ptr<s2s::Codec> create(const s2s::Config& options, const s2s::ModelContext& context);

/// The options of the tiny instance that `plugin check` and the test build.
inline constexpr char kTiny[] = R"({"sample_rate": 16000, "num_bands": 8, "num_levels": 32})";

}  // namespace PLUGIN_NAME
