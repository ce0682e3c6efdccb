#pragma once
// The encoder COMPONENT_NAME: log-mel features of 10 ms, and one causal convolution over them with
// a stride of 80 ms. It has no look-ahead, so a stream gives the same frames as the offline
// forward. Shape letters: B batch, S samples, M mel frames (10 ms), T frames (80 ms), F mel bands,
// H hidden.

#include <memory>
#include <string>

#include "s2s/kinds/encoder.h"
#include "s2s/nn/layers.h"
#include "s2s/nn/mel.h"
#include "s2s/registry.h"

namespace PLUGIN_NAME {

struct Options {
  int64_t sample_rate = 16000;
  int64_t features = 80;
  int64_t context = 24;
  int64_t d_model = 256;
  void visit(s2s::OptionVisitor& v) {
    v("sample_rate", sample_rate, "sample rate of the user's audio in Hz, a multiple of 100",
      s2s::between(8000, 96000));
    v("features", features, "mel bands", s2s::between(1, 512));
    v("context", context, "mel frames (10 ms) of context before the eight of a frame",
      s2s::between(0, 10000));
    v("d_model", d_model, "width of a frame and of the hidden layer", s2s::at_least(1));
  }
};

/// Options of the tiny instance that `s2s-run plugin check` and test.cc build.
inline constexpr char kTiny[] = R"({"features": 20, "context": 5, "d_model": 16})";

class Encoder final : public s2s::Encoder {
 public:
  /// path: of the options in the config, for messages.
  Encoder(const Options& options, const std::string& path);

  s2s::EncoderOutput forward(const at::Tensor& audio_BS, const at::Tensor& lengths_B) override;
  int64_t output_frames(int64_t num_samples) const override;
  int64_t output_width(int64_t num_samples) const override;
  int64_t output_dim() const override { return options_.d_model; }
  int64_t sample_rate_hz() const override { return options_.sample_rate; }
  double frame_rate_hz() const override { return 12.5; }
  std::unique_ptr<s2s::EncoderStream> open_stream(int64_t batch_size) override;
  s2s::ShardPlan configure_model(const s2s::MeshShape& mesh) const override;

 private:
  class Stream;
  /// The learned layers. Shapes: [B, context + 8 T, F] with T >= 1, the context first -> [B, T, H].
  at::Tensor encode(const at::Tensor& mel_BMF);

  Options options_;
  s2s::MelFrontEnd front_end_;
  s2s::Linear in_, out_;
  s2s::LayerNorm norm_;
};

/// Errors: [PLUGIN_NAME/sample-rate] if 10 ms are not a whole number of samples at this rate.
std::unique_ptr<s2s::Encoder> create(const s2s::Config& options, const s2s::BuildContext& context);

}  // namespace PLUGIN_NAME
