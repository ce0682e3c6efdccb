#include "encodec.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "encodec_errors.h"
#include "s2s/nn/rows.h"
#include "s2s/nn/weights.h"

namespace s2s::encodec {
namespace {

/// Mono audio [B, S] or audio [B, C, S] -> [B, `channels`, S].
at::Tensor with_channels(const at::Tensor& audio, int64_t channels) {
  const at::Tensor audio_BCS = audio.dim() == 2 ? audio.unsqueeze(1) : audio;
  return audio_BCS.expand({-1, channels, -1}).to(at::kFloat);
}

int64_t covering(int64_t count, int64_t size) { return (count + size - 1) / size; }

/// The names of torch's newer weight norm.
std::vector<NameRule> weight_norm_spellings() {
  std::vector<NameRule> rules;
  for (const char* const place :
       {"*.layers.*.conv", "*.layers.*.block.*.conv", "*.layers.*.shortcut.conv"}) {
    const std::string conv = place;
    rules.push_back({conv + ".weight_g", conv + ".parametrizations.weight.original0"});
    rules.push_back({conv + ".weight_v", conv + ".parametrizations.weight.original1"});
  }
  return rules;
}

/// Weights of a chunk's samples where chunks overlap: a triangle.
at::Tensor fade(int64_t samples, const at::TensorOptions& options) {
  const at::Tensor place_S = at::linspace(0, 1, samples + 2, options).narrow(0, 1, samples);
  return 0.5 - (place_S - 0.5).abs();
}

}  // namespace

Encodec::Encodec(const EncodecOptions& options, std::string weights_path)
    : FrameCodec(LastFrame::kLayers),
      options_(options),
      weights_path_(std::move(weights_path)),
      encoder_("layers."),
      decoder_("layers."),
      books_VD_(options.is_scalar() ? 0 : static_cast<size_t>(options.stored_books())) {
  if (options.is_scalar()) scalar_.emplace(options.stored_books(), options.scalar_levels);
  add_seanet_encoder(encoder_, options.seanet());
  add_seanet_decoder(decoder_, options.seanet());
  register_block("encoder", encoder_);
  for (size_t k = 0; k < books_VD_.size(); ++k) {
    register_buffer("quantizer.layers." + std::to_string(k) + ".codebook.embed", books_VD_[k]);
    const auto generator = at::make_generator<at::CPUGeneratorImpl>(uint64_t{k});
    books_VD_[k] = at::empty({options.codebook_size, options.hidden_size}, at::kFloat)
                       .normal_(0, 1, generator);
  }
  register_block("decoder", decoder_);
}

Encodec::~Encodec() = default;

CodecShape Encodec::shape() const {
  return {options_.sampling_rate, options_.hop(), options_.books(), options_.codebook_size};
}

std::vector<at::Tensor> Encodec::entries(int64_t books) const {
  return {books_VD_.begin(), books_VD_.begin() + books};
}

at::Tensor Encodec::latents(const at::Tensor& audio_BCS, StreamState& state, bool is_last) const {
  return encoder_.push(audio_BCS, state, is_last);
}

at::Tensor Encodec::codes_of(const at::Tensor& latents_BHT, int64_t books) const {
  if (scalar_) return scalar_->encode(latents_BHT);
  return residual_codes(latents_BHT.transpose(1, 2), entries(books), EntryDistance::kProductFirst)
      .transpose(1, 2);
}

at::Tensor Encodec::encode_piece(const at::Tensor& audio_BS, StreamState& state,
                                 bool is_last) const {
  const at::Tensor audio_BCS = with_channels(audio_BS, options_.audio_channels);
  return codes_of(latents(audio_BCS, state, is_last), options_.books());
}

at::Tensor Encodec::quantized(const at::Tensor& codes_BKT) const {
  if (scalar_) return scalar_->decode(codes_BKT);
  if (codes_BKT.size(2) == 0) {
    return at::zeros({codes_BKT.size(0), options_.hidden_size, 0}, books_VD_[0].options());
  }
  return sum_of_entries(codes_BKT.transpose(1, 2), entries(codes_BKT.size(1))).transpose(1, 2);
}

at::Tensor Encodec::decoded(const at::Tensor& codes_BKT, StreamState& state, bool is_last) const {
  return decoder_.push(quantized(codes_BKT), state, is_last);
}

at::Tensor Encodec::decode_piece(const at::Tensor& codes_BKT, StreamState& state,
                                 bool is_last) const {
  return decoded(codes_BKT, state, is_last).mean(1);
}

Encodec::Chunks Encodec::in_chunks(const at::Tensor& audio_BCS, int64_t books) const {
  const int64_t width = audio_BCS.size(2), chunk = options_.chunk_samples();
  const int64_t stride = chunk == 0 ? std::max(width, int64_t{1}) : options_.chunk_stride();
  Chunks out;
  std::vector<at::Tensor> codes, latents_of_chunks;
  for (int64_t begin = 0; begin < width; begin += stride) {
    at::Tensor piece_BCS = audio_BCS.slice(2, begin, chunk == 0 ? width : begin + chunk);
    if (options_.normalize) {
      const at::Tensor mono_B1S = piece_BCS.sum(1, /*keepdim=*/true) / piece_BCS.size(1);
      const at::Tensor scale_B11 = mono_B1S.pow(2).mean(-1, /*keepdim=*/true).sqrt() + 1e-8;
      piece_BCS = piece_BCS / scale_B11;
      out.scales_B1.push_back(scale_B11.view({-1, 1}));
    }
    StreamState state;
    state.completes() = true;
    latents_of_chunks.push_back(latents(piece_BCS, state, /*is_last=*/true));
    codes.push_back(codes_of(latents_of_chunks.back(), books));
  }
  out.chunk_frames = codes.empty() ? 0 : codes.front().size(2);
  out.codes_BKT = at::cat(codes, 2);
  out.latents_BHT = at::cat(latents_of_chunks, 2);
  return out;
}

at::Tensor Encodec::from_chunks(const at::Tensor& codes_BKT, int64_t chunk_frames,
                                const at::Tensor& scales_BN) const {
  std::vector<at::Tensor> pieces;
  for (int64_t begin = 0; begin < codes_BKT.size(2); begin += chunk_frames) {
    StreamState state;
    at::Tensor piece_BCS =
        decoded(codes_BKT.slice(2, begin, begin + chunk_frames), state, /*is_last=*/true);
    if (scales_BN.defined()) {
      const auto n = static_cast<int64_t>(pieces.size());
      piece_BCS = piece_BCS * scales_BN.select(1, n).view({-1, 1, 1});
    }
    pieces.push_back(piece_BCS);
  }
  if (options_.chunk_samples() == 0) return at::cat(pieces, 2);
  const int64_t stride = options_.chunk_stride();
  const auto steps = static_cast<int64_t>(pieces.size()) - 1;
  const int64_t width = stride * steps + pieces.back().size(2);
  const at::Tensor weight_S = fade(pieces.front().size(2), pieces.front().options());
  const at::Tensor sum_BCS =
      at::zeros({codes_BKT.size(0), options_.audio_channels, width}, pieces.front().options());
  const at::Tensor weights_S = at::zeros({width}, pieces.front().options());
  for (int64_t i = 0; i <= steps; ++i) {
    const at::Tensor& piece_BCS = pieces[static_cast<size_t>(i)];
    const int64_t size = piece_BCS.size(2);
    const at::Tensor own_S = weight_S.narrow(0, 0, size);
    sum_BCS.narrow(2, i * stride, size).add_(own_S * piece_BCS);
    weights_S.narrow(0, i * stride, size).add_(own_S);
  }
  return sum_BCS / weights_S;
}

std::pair<at::Tensor, at::Tensor> Encodec::encode(const at::Tensor& audio_BS,
                                                  const at::Tensor& lengths_B) {
  if (!options_.needs_whole()) return FrameCodec::encode(audio_BS, lengths_B);
  const at::NoGradGuard no_grad;
  // A norm over a chunk would see a neighbor's padding, so rows are encoded one by one.
  const at::Tensor ends_B = lengths_B.to(at::kCPU, at::kLong);
  std::vector<at::Tensor> rows;
  std::vector<int64_t> frames;
  for (int64_t b = 0; b < audio_BS.size(0); ++b) {
    const at::Tensor row_1S = audio_BS.narrow(0, b, 1).slice(1, 0, ends_B[b].item<int64_t>());
    const at::Tensor row_1CS = with_channels(row_1S, options_.audio_channels);
    rows.push_back(row_1CS.size(2) == 0
                       ? at::empty({1, options_.books(), 0}, row_1CS.options().dtype(at::kLong))
                       : in_chunks(row_1CS, options_.books()).codes_BKT);
    frames.push_back(rows.back().size(2));
  }
  const int64_t width = *std::max_element(frames.begin(), frames.end());
  for (at::Tensor& row : rows) row = at::constant_pad_nd(row, {0, width - row.size(2)});
  return {at::cat(rows, 0), at::tensor(frames, at::kLong).to(lengths_B.device())};
}

at::Tensor Encodec::decode(const at::Tensor& codes_BKT) {
  if (!options_.needs_whole()) return FrameCodec::decode(codes_BKT);
  const at::NoGradGuard no_grad;
  const int64_t chunk = options_.chunk_samples(), frames = codes_BKT.size(2);
  if (frames == 0) return at::zeros({codes_BKT.size(0), 0}, device());
  const at::Tensor audio_BS =
      from_chunks(codes_BKT, chunk == 0 ? frames : covering(chunk, options_.hop()), {}).mean(1);
  const int64_t samples = frames * options_.hop();
  return at::constant_pad_nd(audio_BS, {0, samples - audio_BS.size(1)});
}

std::unique_ptr<CodecStream> Encodec::open_stream(int64_t batch_size) {
  if (options_.needs_whole()) throw not_streamable();
  return FrameCodec::open_stream(batch_size);
}

std::unique_ptr<CodecEncoderStream> Encodec::open_encoder_stream(int64_t batch_size) {
  return options_.needs_whole() ? nullptr : FrameCodec::open_encoder_stream(batch_size);
}

NameMap Encodec::checkpoint_names() const {
  return {
      .rules = {{"**", "**"}},
      .ignored = {"quantizer.layers.*.codebook.embed_avg",
                  "quantizer.layers.*.codebook.cluster_size", "quantizer.layers.*.codebook.inited"},
      .other_spellings = weight_norm_spellings()};
}

std::unique_ptr<WeightSource> Encodec::initial_values() {
  if (weights_path_.empty()) return nullptr;
  return weight_source(*this, checkpoint_names(), WeightFiles::open(weights_path_));
}

std::map<std::string, at::Tensor> Encodec::reference_outputs(
    const std::map<std::string, at::Tensor>& inputs, bool) {
  const at::NoGradGuard no_grad;
  const auto bandwidth = inputs.find("bandwidth");
  if (bandwidth != inputs.end()) {
    options_.num_codebooks = options_.books_of(bandwidth->second.item<double>());
  }
  const at::Tensor audio_BCS = with_channels(inputs.at("audio"), options_.audio_channels);
  const Chunks chunks = in_chunks(audio_BCS, options_.books());
  const auto given = [&](const char* name, const at::Tensor& otherwise) {
    const auto found = inputs.find(name);
    return found == inputs.end() ? otherwise : found->second;
  };
  const at::Tensor codes_BKT = given("codes", chunks.codes_BKT);
  at::Tensor scales_BN = chunks.scales_B1.empty() ? at::Tensor() : at::cat(chunks.scales_B1, 1);
  std::map<std::string, at::Tensor> out;
  if (inputs.count("piece_frames") != 0) {
    out = peer_outputs(inputs);
  } else {
    out["codes"] = chunks.codes_BKT;
    const at::Tensor used_BN = scales_BN.defined() ? given("scales", scales_BN) : scales_BN;
    out["audio"] = from_chunks(codes_BKT, chunks.chunk_frames, used_BN);
    const auto first = inputs.find("first_books");
    if (first != inputs.end()) {
      out["audio_first_books"] = from_chunks(codes_BKT.narrow(1, 0, first->second.item<int64_t>()),
                                             chunks.chunk_frames, used_BN);
    }
  }
  out["latents"] = chunks.latents_BHT;
  out["quantized"] = quantized(codes_BKT);
  out["chunk_frames"] = at::full({}, chunks.chunk_frames, at::kLong);
  if (scales_BN.defined()) out["scales"] = scales_BN;
  if (inputs.count("lengths") != 0) out["lengths"] = frames_of(inputs.at("lengths"));
  return out;
}

}  // namespace s2s::encodec
