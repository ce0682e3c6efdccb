// Shape letters: B batch, S samples, T frames, H width.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "answers.h"
#include "s2s/error.h"
#include "weights/shape_text.h"

namespace s2s::conformance {
namespace {

/// Two seconds of noise per row, and the number of valid samples in each row.
struct Audio {
  at::Tensor samples_BS, lengths_B;
};

Audio some_audio(int64_t sample_rate_hz) {
  at::manual_seed(17);
  const int64_t width = 2 * sample_rate_hz;
  Audio audio{at::randn({2, width}) * 0.1, at::tensor({width, width * 5 / 8 + 13}, at::kLong)};
  audio.samples_BS[1].slice(0, audio.lengths_B[1].item<int64_t>()).zero_();
  return audio;
}

void ask_lengths(Encoder& encoder, const Audio& audio, const EncoderOutput& out,
                 Questions& questions) {
  const at::Tensor& features = out.features_BTH;
  const bool sizes_hold = features.dim() == 3 && features.size(0) == 2 &&
                          features.size(1) == encoder.output_width(audio.samples_BS.size(1)) &&
                          features.size(2) == encoder.output_dim();
  questions.ask(sizes_hold,
                "features are " + shape_text(features) + ", not [B, output_width, output_dim]");
  for (int64_t b = 0; b < 2; ++b) {
    const int64_t announced = encoder.output_frames(audio.lengths_B[b].item<int64_t>());
    const int64_t given = out.lengths_B[b].item<int64_t>();
    questions.ask(announced == given, "output_frames returns " + std::to_string(announced) +
                                          ", but forward returns " + std::to_string(given));
  }
  const double per_second =
      static_cast<double>(encoder.output_frames(100 * encoder.sample_rate_hz())) / 100;
  questions.ask(std::abs(per_second / encoder.frame_rate_hz() - 1) < 0.01,
                "frame_rate_hz is " + std::to_string(encoder.frame_rate_hz()) +
                    ", but 100 s of audio give " + std::to_string(per_second) +
                    " frames per second");
}

void ask_padding(Encoder& encoder, const Audio& audio, const EncoderOutput& together,
                 Questions& questions) {
  const int64_t length = audio.lengths_B[1].item<int64_t>();
  const at::Tensor alone_1S = audio.samples_BS.slice(0, 1).slice(1, 0, length);
  const EncoderOutput alone = encoder.forward(alone_1S, audio.lengths_B.slice(0, 1));
  const int64_t frames = alone.lengths_B[0].item<int64_t>();
  questions.ask(close(together.features_BTH.slice(0, 1).slice(1, 0, frames),
                      alone.features_BTH.slice(1, 0, frames)),
                "padding or a neighbor in the batch changes a row's frames");
}

void ask_stream(Encoder& encoder, const Audio& audio, const EncoderOutput& whole,
                Questions& questions) {
  try {
    const auto stream = encoder.open_stream(1);
    const at::Tensor samples_1S = audio.samples_BS.slice(0, 0, 1);
    std::vector<at::Tensor> frames;
    for (int64_t begin = 0, size = 1; begin < samples_1S.size(1); begin += size, size += 701) {
      frames.push_back(stream->push(samples_1S.slice(1, begin, begin + size)));
    }
    frames.push_back(stream->finish());
    const int64_t valid = whole.lengths_B[0].item<int64_t>();
    questions.ask(close(at::cat(frames, 1), whole.features_BTH.slice(0, 0, 1).slice(1, 0, valid)),
                  "streaming differs from the offline forward");
  } catch (const Error& error) {
    if (error.id() != "encoder/not-streamable") throw;
  }
}

}  // namespace

Answers broken_promises(Encoder& encoder) {
  Questions questions;
  encoder.train(false);
  const Audio audio = some_audio(encoder.sample_rate_hz());
  {
    const at::NoGradGuard no_grad;
    const EncoderOutput out = encoder.forward(audio.samples_BS, audio.lengths_B);
    ask_lengths(encoder, audio, out, questions);
    ask_padding(encoder, audio, out, questions);
    ask_stream(encoder, audio, out, questions);
  }
  if (!encoder.named_parameters().empty()) {  // else it is frozen
    const at::Tensor features = encoder.forward(audio.samples_BS, audio.lengths_B).features_BTH;
    (features * at::randn_like(features)).sum().backward();
    ask_gradients(encoder, questions);
  }
  ask_plan(encoder, encoder.configure_model({}), questions);
  ask_names(encoder, encoder.checkpoint_names(), questions);
  return questions.take();
}

}  // namespace s2s::conformance
