#include "whisper.h"

#include <ATen/ATen.h>

#include <utility>

#include "s2s/nn/weights.h"
#include "whisper_errors.h"

namespace s2s::whisper {

Whisper::Whisper(const WhisperOptions& options, const std::string& place, std::string weights_path)
    : options_(options),
      place_(place),
      weights_path_(std::move(weights_path)),
      outputs_(options.encoder_layers, place),
      features_({options.sampling_rate, options.n_fft, options.hop_length, options.num_mel_bins}),
      stem_(options.num_mel_bins, options.d_model),
      norm_(options.d_model) {
  register_block("features", features_);
  // A buffer because transformers does not train it either.
  register_buffer("encoder.embed_positions.weight", positions_TH_);
  register_block("encoder.stem", stem_);
  for (int64_t i = 0; i < options.encoder_layers; ++i) {
    layers_.push_back(std::make_unique<EncoderLayer>(options.layer()));
    register_block("encoder.layers." + std::to_string(i), *layers_.back());
  }
  register_block("encoder.layer_norm", norm_);
}

Whisper::~Whisper() = default;

void Whisper::reset_buffers() {
  positions_TH_ = sinusoid_positions(options_.max_source_positions, options_.d_model);
}

at::Tensor Whisper::encode(const at::Tensor& mel_BFM, const LayerOutputs& outputs) {
  const int64_t rows = mel_BFM.size(0), window = options_.window_frames();
  const at::Tensor mel_BWFM = mel_BFM.unflatten(2, {-1, window}).transpose(1, 2);
  const at::ScalarType type = norm_.weight.scalar_type();
  at::Tensor x_NTH = stem_(mel_BWFM.flatten(0, 1).to(type)) + positions_TH_.to(type);
  x_NTH = at::dropout(x_NTH, options_.dropout, is_training());
  const at::Tensor y_NTH = outputs.run(
      x_NTH,
      [&](int64_t i, const at::Tensor& x) { return (*layers_[static_cast<size_t>(i)])(x, {}); },
      [&](const at::Tensor& x) { return norm_(x); });
  return y_NTH.unflatten(0, {rows, -1}).flatten(1, 2);
}

EncoderOutput Whisper::forward(const at::Tensor& audio_BS, const at::Tensor& lengths_B) {
  const at::Tensor mel_BFM = features_.windows(audio_BS, lengths_B, options_.window_frames());
  const at::Tensor frames_B = rounded_up(features_.frames(lengths_B), 2);
  const at::Tensor features_BTH = encode(mel_BFM, outputs_);
  return {features_BTH.narrow(1, 0, output_width(audio_BS.size(1))), frames_B, mel_BFM};
}

int64_t Whisper::output_frames(int64_t num_samples) const {
  return rounded_up(features_.frames(num_samples), 2);
}

double Whisper::forward_flops(int64_t rows, int64_t num_samples) {
  const int64_t frames = options_.max_source_positions;
  const double layers = encoder_layers_flops(options_.layer(), outputs_.num_computed(), frames);
  const int64_t windows = rows * features_.num_windows(num_samples, options_.window_frames());
  return static_cast<double>(windows) * (stem_.flops(frames) + layers);
}

double Whisper::frame_rate_hz() const {
  return static_cast<double>(options_.sampling_rate) / static_cast<double>(2 * options_.hop_length);
}

std::unique_ptr<EncoderStream> Whisper::open_stream(int64_t) {
  throw sees_all_frames(place_, "whisper");
}

ShardPlan Whisper::configure_model(const MeshShape& mesh) const {
  ShardPlan plan;
  plan.rows = {{"encoder.stem"}};
  plan.units = {{"encoder.stem"}};
  add_encoder_layers(options_.layer(), "encoder.layers", mesh, plan);
  plan.rows.push_back({"encoder.layer_norm"});
  return plan;
}

NameMap Whisper::checkpoint_names() const {
  NameMap names;
  for (const char* part : {"stem.conv1", "stem.conv2", "embed_positions", "layers", "layer_norm"}) {
    const std::string ours = std::string("encoder.") + part + ".**";
    const std::string theirs = std::string(part).substr(std::string(part).find('.') + 1) + ".**";
    names.rules.push_back({ours, "model.encoder." + theirs});
    names.other_spellings.push_back({ours, "encoder." + theirs});
    names.other_spellings.push_back({ours, theirs});  // of the encoder alone
  }
  names.ignored = {"model.decoder.**", "decoder.**",    "proj_out.**",
                   "projector.**",     "classifier.**", "layer_weights"};
  return names;
}

std::unique_ptr<WeightSource> Whisper::initial_values() {
  if (weights_path_.empty()) return nullptr;
  return weight_source(*this, checkpoint_names(), WeightFiles::open(weights_path_));
}

std::map<std::string, at::Tensor> Whisper::reference_outputs(
    const std::map<std::string, at::Tensor>& inputs, bool) {
  const auto given = inputs.find("mel");
  const bool has_mel = given != inputs.end();
  const at::Tensor lengths_B = inputs.at(has_mel ? "mel_lengths" : "lengths");
  const at::Tensor mel_BFM =
      has_mel ? given->second.to(at::kFloat)
              : features_.windows(inputs.at("audio"), lengths_B, options_.window_frames());
  if (mel_BFM.size(2) == 0 || mel_BFM.size(2) % options_.window_frames() != 0) {
    throw window_error(mel_BFM.size(2), options_.window_frames());
  }
  const at::Tensor mel_lengths_B = has_mel ? lengths_B : features_.frames(lengths_B);
  LayerOutputs first(options_.encoder_layers, place_);
  first.select({0}, false);
  return {{"mel", mel_BFM},
          {"mel_lengths", mel_lengths_B},
          {"features", encode(mel_BFM, outputs_)},
          {"lengths", rounded_up(mel_lengths_B, 2)},
          {"layer_1", encode(mel_BFM, first)}};
}

}  // namespace s2s::whisper
