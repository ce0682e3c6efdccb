#include "s2s/nn/frame_codec.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "s2s/error.h"
#include "s2s/nn/codec_streams.h"
#include "s2s/nn/rows.h"
#include "s2s/nn/weights.h"

namespace s2s {
namespace {

/// Frames that are computed at once.
constexpr int64_t kPieceFrames = 125;
constexpr int64_t kSilenceSeconds = 2;

int64_t whole_frames_in(int64_t samples, const CodecShape& shape) {
  return (samples + shape.samples_per_frame - 1) / shape.samples_per_frame;
}

void check_range(const at::Tensor& codes, int64_t codebook_size) {
  if (codes.numel() == 0 || !codes.device().is_cpu()) return;  // a device would wait
  for (const int64_t code : {codes.min().item<int64_t>(), codes.max().item<int64_t>()}) {
    if (code >= 0 && code < codebook_size) continue;
    throw data_error("codec/code-range", "cannot decode code " + std::to_string(code) +
                                             "\n  expected: 0 to " +
                                             std::to_string(codebook_size - 1) +
                                             "; control codes are replaced by silence_codes first");
  }
}

}  // namespace

FrameCodec::~FrameCodec() = default;

at::Tensor FrameCodec::frames_of(const at::Tensor& lengths_B) const {
  const int64_t frame = shape().samples_per_frame;
  return at::floor_divide(lengths_B + (frame - 1), frame);
}

at::Device FrameCodec::device() {
  const std::vector<NamedTensor> buffers = named_buffers();
  return (buffers.empty() ? named_parameters() : buffers).front().tensor->device();
}

at::Tensor FrameCodec::encode_in_pieces(const at::Tensor& audio_BS, const at::Tensor& lengths_B,
                                        const EncodePiece& of_piece) const {
  const int64_t frame = shape().samples_per_frame, width = audio_BS.size(1);
  const int64_t frames = whole_frames_in(width, shape());
  const at::Tensor whole_BS = at::constant_pad_nd(audio_BS, {0, frames * frame - width});
  at::Tensor ends_B = lengths_B.to(audio_BS.device());
  if (last_frame_ == LastFrame::kZeros) ends_B = frames_of(ends_B) * frame;
  StreamState state;
  std::vector<at::Tensor> pieces;
  for (int64_t begin = 0; begin < std::max(frames, int64_t{1}); begin += kPieceFrames) {
    const int64_t end = std::min(begin + kPieceFrames, frames);
    state.surplus_B() = (end * frame - ends_B).clamp(0, (end - begin) * frame);
    pieces.push_back(of_piece(whole_BS.slice(1, begin * frame, end * frame), state, end == frames));
  }
  return at::cat(pieces, 2);
}

std::pair<at::Tensor, at::Tensor> FrameCodec::encode(const at::Tensor& audio_BS,
                                                     const at::Tensor& lengths_B) {
  const at::NoGradGuard no_grad;
  const auto [whole_BS, frames_B] =
      whole_frames(audio_BS.to(at::kFloat), lengths_B, shape().samples_per_frame);
  const at::Tensor codes_BKT = encode_in_pieces(
      whole_BS, lengths_B, [this](const at::Tensor& piece_BS, StreamState& state, bool is_last) {
        return encode_piece(piece_BS, state, is_last);
      });
  return {zero_beyond(codes_BKT, frames_B, 2), frames_B};
}

at::Tensor FrameCodec::decode_in_pieces(const at::Tensor& codes_BKT) const {
  StreamState state;
  std::vector<at::Tensor> pieces;
  const int64_t frames = codes_BKT.size(2);
  for (int64_t begin = 0; begin < frames; begin += kPieceFrames) {
    const int64_t end = std::min(begin + kPieceFrames, frames);
    pieces.push_back(decode_piece(codes_BKT.slice(2, begin, end), state, end == frames));
  }
  return pieces.empty() ? at::zeros({codes_BKT.size(0), 0}, codes_BKT.options().dtype(at::kFloat))
                        : at::cat(pieces, 1);
}

at::Tensor FrameCodec::decode(const at::Tensor& codes_BKT) {
  const at::NoGradGuard no_grad;
  check_range(codes_BKT, shape().codebook_size);
  const at::Tensor audio_BS = decode_in_pieces(codes_BKT);
  const int64_t samples = codes_BKT.size(2) * shape().samples_per_frame;
  return at::constant_pad_nd(audio_BS, {0, samples - audio_BS.size(1)});
}

/// Holds samples until a frame is complete.
class FrameCodec::AudioStream final : public CodecEncoderStream {
 public:
  AudioStream(FrameCodec& codec, EncodePiece of_piece, at::Tensor nothing)
      : codec_(codec),
        of_piece_(std::move(of_piece)),
        nothing_(std::move(nothing)),
        held_BS_(
            at::zeros({nothing_.size(0), 0}, at::TensorOptions(at::kFloat).device(codec.device()))),
        mark_(codec, StreamMark::Pushes::kAudio, nothing_.size(0)) {}

  at::Tensor push(const at::Tensor& audio_BS) override {
    const at::NoGradGuard no_grad;
    held_BS_ = at::cat({held_BS_, audio_BS.to(held_BS_.options())}, 1);
    samples_ += audio_BS.size(1);
    const int64_t frame = codec_.shape().samples_per_frame;
    const int64_t whole = held_BS_.size(1) / frame * frame;
    const at::Tensor frames_BS = held_BS_.slice(1, 0, whole);
    held_BS_ = held_BS_.slice(1, whole).clone();
    if (whole == 0) return nothing_;
    return of_piece_(frames_BS, state_, /*is_last=*/false);
  }

  at::Tensor finish() override {
    const at::NoGradGuard no_grad;
    const CodecShape shape = codec_.shape();
    const int64_t begun = samples_ / shape.samples_per_frame;  // frames that were pushed
    const int64_t frames = whole_frames_in(samples_, shape);
    if (frames == 0) return nothing_;
    const int64_t surplus = (frames - begun) * shape.samples_per_frame - held_BS_.size(1);
    if (codec_.last_frame_ == LastFrame::kLayers) {
      state_.surplus_B() =
          at::full({held_BS_.size(0)}, surplus, held_BS_.options().dtype(at::kLong));
    }
    const at::Tensor rest_BKT =
        of_piece_(at::constant_pad_nd(held_BS_, {0, surplus}), state_, /*is_last=*/true);
    held_BS_ = held_BS_.slice(1, 0, 0);
    samples_ = 0;
    return rest_BKT;
  }

  TensorMap state() const override {
    TensorMap state = state_.save(codec_);
    state["held"] = held_BS_.clone();
    state["samples"] = at::scalar_tensor(samples_, at::kLong);
    return mark_.on(std::move(state));
  }

  void restore(const TensorMap& state) override {
    mark_.check(state, {"held", "samples"});
    state_.restore(codec_, state, codec_.device());
    held_BS_ = state.at("held").to(held_BS_.options()).clone();
    samples_ = state.at("samples").item<int64_t>();
  }

 private:
  FrameCodec& codec_;
  EncodePiece of_piece_;
  at::Tensor nothing_, held_BS_;
  int64_t samples_ = 0;
  StreamState state_;
  StreamMark mark_;
};

class FrameCodec::CodeStream final : public CodecStream {
 public:
  CodeStream(FrameCodec& codec, int64_t batch_size)
      : codec_(codec),
        batch_(batch_size),
        device_(codec.device()),
        mark_(codec, StreamMark::Pushes::kCodes, batch_size) {}

  at::Tensor push(const at::Tensor& codes_BKT) override {
    const at::NoGradGuard no_grad;
    check_range(codes_BKT, codec_.shape().codebook_size);
    if (codes_BKT.size(2) == 0) return at::zeros({batch_, 0}, device_);
    num_books_ = codes_BKT.size(1);
    frames_ += codes_BKT.size(2);
    return counted(
        codec_.decode_piece(codes_BKT.to(device_, at::kLong), state_, /*is_last=*/false));
  }

  at::Tensor finish() override {
    const at::NoGradGuard no_grad;
    if (frames_ == 0) return at::zeros({batch_, 0}, device_);
    const at::Tensor none_BK0 =
        at::zeros({batch_, num_books_, 0}, at::TensorOptions(at::kLong).device(device_));
    const at::Tensor rest_BS = counted(codec_.decode_piece(none_BK0, state_, /*is_last=*/true));
    const int64_t missing = frames_ * codec_.shape().samples_per_frame - samples_;
    frames_ = samples_ = 0;
    return at::constant_pad_nd(rest_BS, {0, missing});
  }

  TensorMap state() const override {
    TensorMap state = state_.save(codec_);
    state["counts"] = at::tensor({num_books_, frames_, samples_}, at::kLong);
    return mark_.on(std::move(state));
  }

  void restore(const TensorMap& state) override {
    mark_.check(state, {"counts"});
    state_.restore(codec_, state, device_);
    const std::vector<int64_t> counts = to_vector(state.at("counts"));
    num_books_ = counts.at(0);
    frames_ = counts.at(1);
    samples_ = counts.at(2);
  }

 private:
  at::Tensor counted(const at::Tensor& audio_BS) {
    samples_ += audio_BS.size(1);
    return audio_BS;
  }

  FrameCodec& codec_;
  int64_t batch_, num_books_ = 0, frames_ = 0, samples_ = 0;
  at::Device device_;
  StreamState state_;
  StreamMark mark_;
};

std::unique_ptr<CodecStream> FrameCodec::open_stream(int64_t batch_size) {
  return std::make_unique<CodeStream>(*this, batch_size);
}

std::unique_ptr<CodecEncoderStream> FrameCodec::open_piece_stream(EncodePiece of_piece,
                                                                  at::Tensor nothing) {
  return std::make_unique<AudioStream>(*this, std::move(of_piece), std::move(nothing));
}

std::unique_ptr<CodecEncoderStream> FrameCodec::open_encoder_stream(int64_t batch_size) {
  const auto of_piece = [this](const at::Tensor& audio_BS, StreamState& state, bool is_last) {
    return encode_piece(audio_BS, state, is_last);
  };
  return open_piece_stream(of_piece, at::empty({batch_size, shape().num_codebooks, 0},
                                               at::TensorOptions(at::kLong).device(device())));
}

at::Tensor FrameCodec::silence_codes() {
  const int64_t frames = whole_frames_in(kSilenceSeconds * shape().sample_rate_hz, shape());
  const int64_t samples = frames * shape().samples_per_frame;
  const at::Tensor silence_BS = at::zeros({1, samples}, device());
  const at::Tensor length_B = at::full({1}, samples, at::kLong);
  return encode(silence_BS, length_B).first[0].select(1, frames - 1).contiguous();
}

std::map<std::string, at::Tensor> FrameCodec::peer_outputs(
    const std::map<std::string, at::Tensor>& inputs) {
  at::Tensor audio_BS = inputs.at("audio").to(at::kFloat);
  if (audio_BS.dim() == 3) audio_BS = audio_BS.squeeze(1);
  std::map<std::string, at::Tensor> out;
  const auto pieces = inputs.find("piece_frames");
  if (pieces == inputs.end()) {
    const at::Tensor ends_B = at::full({audio_BS.size(0)}, audio_BS.size(1), at::kLong);
    out["codes"] = encode_in_pieces(audio_BS, ends_B,
                                    [this](const at::Tensor& piece, StreamState& state, bool last) {
                                      return encode_piece(piece, state, last);
                                    });
  } else {
    const auto stream = open_encoder_stream(audio_BS.size(0));
    std::vector<at::Tensor> codes;
    int64_t begin = 0;
    const at::Tensor counts = pieces->second.cpu().to(at::kLong);
    for (int64_t i = 0; i < counts.numel(); ++i) {
      const int64_t samples = counts[i].item<int64_t>() * shape().samples_per_frame;
      codes.push_back(stream->push(audio_BS.slice(1, begin, begin + samples)));
      begin += samples;
    }
    codes.push_back(stream->push(audio_BS.slice(1, begin)));
    codes.push_back(stream->finish());
    out["codes"] = at::cat(codes, 2);
  }
  const auto codes = inputs.find("codes");
  const at::Tensor spoken = codes == inputs.end() ? out.at("codes") : codes->second;
  out["audio"] = decode_in_pieces(spoken);
  const auto lengths = inputs.find("lengths");
  if (lengths != inputs.end()) out["lengths"] = frames_of(lengths->second);
  const auto first = inputs.find("first_books");
  if (first != inputs.end()) {
    out["audio_first_books"] = decode_in_pieces(spoken.narrow(1, 0, first->second.item<int64_t>()));
  }
  return out;
}

Config read_codec_keys(const Config& foreign, const std::string& model_type,
                       const std::set<std::string>& options, const std::set<std::string>& ignored) {
  static const std::set<std::string> kUnused = {"architectures",
                                                "_name_or_path",
                                                "transformers_version",
                                                "dtype",
                                                "torch_dtype",
                                                "model_type",
                                                "return_dict",
                                                "output_attentions",
                                                "output_hidden_states",
                                                "id2label",
                                                "label2id",
                                                "problem_type",
                                                "is_encoder_decoder",
                                                "chunk_size_feed_forward"};
  const std::string place =
      foreign.origin().source.empty() ? "config.json" : foreign.origin().source;
  const Config* const type = foreign.find("model_type");
  const bool has_type = type != nullptr && type->is_scalar();
  if (!has_type || type->text() != model_type) {
    throw_unsupported_config(place, "model_type", has_type ? type->text() : "missing",
                             "'" + model_type + "'");
  }
  Config found = Config::map();
  for (const auto& [key, value] : foreign.entries()) {
    if (value.is_null() || kUnused.contains(key) || ignored.contains(key)) continue;
    if (!options.contains(key)) {
      throw_unsupported_config(place, key, value.is_scalar() ? value.text() : "a block",
                               "no such key");
    }
    found[key] = value;
  }
  return found;
}

Config write_codec_keys(const Config& options, const std::string& model_type,
                        const std::string& architecture) {
  Config foreign = Config::map();
  foreign["architectures"] = Config::list({Config::scalar(architecture, true)});
  foreign["model_type"] = Config::scalar(model_type, true);
  for (const auto& [key, value] : options.entries()) {
    if (key != "path" && key != "num_codebooks" && !value.is_null()) foreign[key] = value;
  }
  return foreign;
}

}  // namespace s2s
