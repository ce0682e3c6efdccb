#include "s2s/nn/grouped_codec.h"

#include <ATen/ATen.h>

#include <utility>
#include <vector>

#include "s2s/nn/codec_streams.h"
#include "s2s/nn/rows.h"

// Shape letters: B batch, K codebooks of the codec, n frames of a group, T groups, S samples.

namespace s2s {
namespace {

/// [B, K, T n] -> [B, n K, T]
at::Tensor grouped(const at::Tensor& codes, int64_t n) {
  const int64_t rows = codes.size(0), books = codes.size(1), groups = codes.size(2) / n;
  return codes.view({rows, books, groups, n})
      .permute({0, 3, 1, 2})
      .reshape({rows, n * books, groups});
}

/// [B, n K, T] -> [B, K, T n]
at::Tensor single(const at::Tensor& codes, int64_t n) {
  const int64_t rows = codes.size(0), books = codes.size(1) / n, groups = codes.size(2);
  return codes.reshape({rows, n, books, groups})
      .permute({0, 2, 3, 1})
      .reshape({rows, books, groups * n});
}

class GroupedStream final : public CodecStream {
 public:
  GroupedStream(std::unique_ptr<CodecStream> stream, int64_t n)
      : stream_(std::move(stream)), n_(n) {}
  at::Tensor push(const at::Tensor& codes_BKT) override {
    return stream_->push(single(codes_BKT, n_));
  }
  at::Tensor finish() override { return stream_->finish(); }
  TensorMap state() const override { return stream_->state(); }
  void restore(const TensorMap& state) override { stream_->restore(state); }

 private:
  std::unique_ptr<CodecStream> stream_;
  int64_t n_;
};

class GroupedEncoderStream final : public CodecEncoderStream {
 public:
  GroupedEncoderStream(Codec& codec, std::unique_ptr<CodecEncoderStream> stream, int64_t n,
                       int64_t batch_size)
      : stream_(std::move(stream)),
        n_(n),
        samples_per_group_(codec.shape().samples_per_frame),
        rows_(batch_size),
        mark_(codec, StreamMark::Pushes::kAudio, batch_size) {}
  at::Tensor push(const at::Tensor& audio_BS) override {
    num_samples_ += audio_BS.size(1);
    type_ = audio_BS.options();
    return complete(stream_->push(audio_BS));
  }
  at::Tensor finish() override {
    const int64_t beyond = num_samples_ % samples_per_group_;
    const at::Tensor silence =
        at::zeros({rows_, beyond == 0 ? 0 : samples_per_group_ - beyond}, type_);
    const at::Tensor codes = push(silence);
    return at::cat({codes, complete(stream_->finish())}, 2);
  }

  /// That of the codec's stream, with a mark and members of its own.
  TensorMap state() const override {
    TensorMap state = {{kSamples, at::scalar_tensor(num_samples_, at::kLong)}};
    if (rest_.defined()) state[kRest] = rest_.clone();
    for (auto& [name, tensor] : stream_->state()) state[kInner + name] = tensor;
    return mark_.on(std::move(state));
  }

  void restore(const TensorMap& state) override {
    mark_.check(state, {kSamples});
    TensorMap inner;
    for (const auto& [name, tensor] : state) {
      if (name.starts_with(kInner)) inner[name.substr(kInner.size())] = tensor;
    }
    stream_->restore(inner);
    num_samples_ = state.at(kSamples).item<int64_t>();
    const auto rest = state.find(kRest);
    rest_ = rest == state.end() ? at::Tensor() : rest->second.clone();
  }

 private:
  inline static const std::string kSamples = "samples", kRest = "rest", kInner = "codec.";

  /// The groups that are complete. The rest waits.
  at::Tensor complete(const at::Tensor& codes_BKT) {
    const at::Tensor codes =
        rest_.defined() ? at::cat({rest_.to(codes_BKT.device()), codes_BKT}, 2) : codes_BKT;
    const int64_t ready = codes.size(2) / n_ * n_;
    rest_ = codes.narrow(2, ready, codes.size(2) - ready).clone();
    return grouped(codes.narrow(2, 0, ready).contiguous(), n_);
  }

  std::unique_ptr<CodecEncoderStream> stream_;
  int64_t n_, samples_per_group_;
  int64_t num_samples_ = 0, rows_;
  at::TensorOptions type_ = at::kFloat;
  at::Tensor rest_;
  StreamMark mark_;
};

class GroupedCodec final : public Codec {
 public:
  GroupedCodec(std::unique_ptr<Codec> codec, int64_t n) : codec_(std::move(codec)), n_(n) {
    register_block("", *codec_);
  }
  CodecShape shape() const override {
    CodecShape shape = codec_->shape();
    shape.samples_per_frame *= n_;
    shape.num_codebooks *= n_;
    return shape;
  }
  std::pair<at::Tensor, at::Tensor> encode(const at::Tensor& audio_BS,
                                           const at::Tensor& lengths_B) override {
    const int64_t samples = shape().samples_per_frame;
    // A group that is not complete ends with silence.
    const auto [whole_BS, groups_B] = whole_frames(audio_BS, lengths_B, samples);
    const at::Tensor codes = codec_->encode(whole_BS, groups_B * samples).first;
    return {grouped(codes.contiguous(), n_), groups_B};
  }
  at::Tensor decode(const at::Tensor& codes_BKT) override {
    return codec_->decode(single(codes_BKT, n_));
  }
  std::unique_ptr<CodecStream> open_stream(int64_t batch_size) override {
    return std::make_unique<GroupedStream>(codec_->open_stream(batch_size), n_);
  }
  std::unique_ptr<CodecEncoderStream> open_encoder_stream(int64_t batch_size) override {
    auto stream = codec_->open_encoder_stream(batch_size);
    if (stream == nullptr) return nullptr;
    return std::make_unique<GroupedEncoderStream>(*this, std::move(stream), n_, batch_size);
  }
  at::Tensor silence_codes() override { return codec_->silence_codes().repeat({n_}); }
  bool fit(const std::function<at::Tensor()>& next) override { return codec_->fit(next); }
  bool is_fitted() const override { return codec_->is_fitted(); }
  NameMap checkpoint_names() const override { return codec_->checkpoint_names(); }

 private:
  std::unique_ptr<Codec> codec_;
  int64_t n_;
};

}  // namespace

std::unique_ptr<Codec> group_frames(std::unique_ptr<Codec> codec, int64_t n) {
  if (n == 1) return codec;
  return std::make_unique<GroupedCodec>(std::move(codec), n);
}

}  // namespace s2s
