// Shape letters: B batch, S samples, K codebooks, T frames.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "answers.h"
#include "s2s/error.h"
#include "weights/shape_text.h"

namespace s2s::conformance {
namespace {

constexpr int64_t kFrames = 11;
constexpr const char* kStreamState = "codec/stream-state";

/// Two tones of changing loudness. The second row ends in the middle of a frame.
struct Audio {
  at::Tensor samples_BS, lengths_B;
};

Audio some_audio(const CodecShape& shape) {
  const int64_t width = kFrames * shape.samples_per_frame;
  const at::Tensor time_S =
      at::arange(width, at::kDouble) / static_cast<double>(shape.sample_rate_hz);
  const auto tone = [&](double pitch_hz) {
    return (at::sin(time_S * (2 * M_PI * pitch_hz)) * at::sin(time_S * 7) * 0.2).to(at::kFloat);
  };
  const int64_t shorter = 6 * shape.samples_per_frame + shape.samples_per_frame / 3;
  return {at::stack({tone(140), tone(210)}), at::tensor({width, shorter}, at::kLong)};
}

void ask_codes(const CodecShape& shape, const at::Tensor& codes_BKT, const at::Tensor& frames_B,
               Questions& questions) {
  const bool sizes_hold = codes_BKT.sizes() == at::IntArrayRef({2, shape.num_codebooks, kFrames});
  questions.ask(sizes_hold, "codes are " + shape_text(codes_BKT) + ", not [B, num_codebooks, T]");
  questions.ask(codes_BKT.scalar_type() == at::kLong, "codes are not int64");
  questions.ask(
      codes_BKT.min().item<int64_t>() >= 0 && codes_BKT.max().item<int64_t>() < shape.codebook_size,
      "a code is not in 0 to codebook_size - 1");
  questions.ask(frames_B.equal(at::tensor({kFrames, int64_t{7}}, at::kLong)),
                "lengths are not samples / samples_per_frame, rounded up");
  questions.ask(codes_BKT[1].slice(1, 7).eq(0).all().item<bool>(),
                "codes beyond a row's length are not 0");
}

/// Pushes pieces and returns all outputs. After each piece, and after the end, a new stream that
/// had the state before it has given the same, bit for bit, and goes on in place of the old one.
/// `open(rows)` opens a stream.
template <class Open>
std::vector<at::Tensor> pushed(const Open& open, const std::vector<at::Tensor>& pieces,
                               const std::string& verb, Questions& questions) {
  const int64_t rows = pieces.front().size(0);
  auto stream = open(rows);
  std::vector<at::Tensor> outputs;
  bool has_state = true, continues = true;
  for (size_t i = 0; i <= pieces.size(); ++i) {
    const auto step = [&](auto& of) {
      return i < pieces.size() ? of.push(pieces[i]) : of.finish();
    };
    TensorMap saved;
    try {
      if (has_state) saved = stream->state();
    } catch (const Error& error) {
      if (error.id() != kStreamState) throw;
      has_state = false;  // the stream cannot be saved
    }
    outputs.push_back(step(*stream));
    if (!has_state) continue;
    auto restored = open(rows);
    restored->restore(saved);
    continues = continues && step(*restored).equal(outputs.back());
    if (continues) stream = std::move(restored);
    if (i > 0) continue;
    bool refuses = false;
    try {
      open(rows + 1)->restore(saved);
    } catch (const Error& error) {
      refuses = error.id() == kStreamState;
    }
    questions.ask(refuses, verb + " streams do not refuse the state of another batch size with [" +
                               kStreamState + "]");
  }
  questions.ask(continues, "a stream that is restored goes on " + verb + " in another way");
  return outputs;
}

void ask_decoding(Codec& codec, const at::Tensor& codes_BKT, Questions& questions) {
  const at::Tensor audio_BS = codec.decode(codes_BKT);
  const int64_t samples = codes_BKT.size(2) * codec.shape().samples_per_frame;
  questions.ask(audio_BS.sizes() == at::IntArrayRef({codes_BKT.size(0), samples}),
                "decoded audio is " + shape_text(audio_BS) + ", not [B, T * samples_per_frame]");
  std::vector<at::Tensor> pieces;
  for (const auto& [begin, end] : {std::pair{0, 1}, {1, 2}, {2, 6}, {6, 11}}) {
    pieces.push_back(codes_BKT.slice(2, begin, end));
  }
  const auto open = [&](int64_t rows) { return codec.open_stream(rows); };
  questions.ask(close(at::cat(pushed(open, pieces, "decoding", questions), 1), audio_BS),
                "decoding as a stream differs from decoding all frames at once");
}

/// Pieces of all lengths, of one sample too.
void ask_listening(Codec& codec, const at::Tensor& audio_BS, Questions& questions) {
  const auto open = [&](int64_t rows) { return codec.open_encoder_stream(rows); };
  if (open(audio_BS.size(0)) == nullptr) return;  // it encodes whole recordings only
  const int64_t frame = codec.shape().samples_per_frame, cut = audio_BS.size(1) - frame / 3;
  std::vector<at::Tensor> pieces;
  int64_t begin = 0;
  for (const int64_t end :
       {int64_t{1}, frame / 2, 2 * frame, 2 * frame + frame / 5, 7 * frame, cut}) {
    pieces.push_back(audio_BS.slice(1, begin, end));
    begin = end;
  }
  const at::Tensor lengths_B = at::full({audio_BS.size(0)}, cut, at::kLong);
  const at::Tensor codes_BKT = at::cat(pushed(open, pieces, "encoding", questions), 2);
  questions.ask(codes_BKT.equal(codec.encode(audio_BS.slice(1, 0, cut), lengths_B).first),
                "encoding as a stream differs from encoding all samples at once");
}

void ask_silence(Codec& codec, bool is_trained, Questions& questions) {
  const CodecShape shape = codec.shape();
  const at::Tensor silence_K = codec.silence_codes();
  questions.ask(silence_K.sizes() == at::IntArrayRef({shape.num_codebooks}),
                "silence_codes are " + shape_text(silence_K) + ", not [num_codebooks]");
  const at::Tensor spoken_BS = codec.decode(silence_K.view({1, -1, 1}).expand({1, -1, kFrames}));
  questions.ask(!is_trained || spoken_BS.abs().max().item<double>() < 0.01,
                "silence_codes do not decode to silence");
}

}  // namespace

Answers broken_promises(Codec& codec, bool is_trained) {
  const at::NoGradGuard no_grad;
  Questions questions;
  codec.train(false);
  const CodecShape shape = codec.shape();
  questions.ask(codec.is_fitted(), "the codec has no statistics: call fit before the check");
  if (!codec.is_fitted()) return questions.take();
  const Audio audio = some_audio(shape);
  const auto [codes_BKT, frames_B] = codec.encode(audio.samples_BS, audio.lengths_B);
  ask_codes(shape, codes_BKT, frames_B, questions);
  const int64_t length = audio.lengths_B[1].item<int64_t>();
  const auto alone =
      codec.encode(audio.samples_BS.slice(0, 1).slice(1, 0, length), audio.lengths_B.slice(0, 1));
  questions.ask(alone.first[0].equal(codes_BKT[1].slice(1, 0, alone.first.size(2))),
                "padding or a neighbor in the batch changes a row's codes");
  ask_decoding(codec, codes_BKT, questions);
  ask_listening(codec, audio.samples_BS, questions);
  ask_silence(codec, is_trained, questions);
  ask_names(codec, codec.checkpoint_names(), questions);
  return questions.take();
}

}  // namespace s2s::conformance
