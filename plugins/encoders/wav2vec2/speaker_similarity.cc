#include "speaker_similarity.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "s2s/data/resample.h"
#include "s2s/nemo_archive.h"
#include "s2s/nn/weights.h"
#include "speaker_label.h"
#include "x_vector.h"

namespace s2s::wav2vec2 {
namespace {

constexpr const char* kTinyModel =
    R"({"path": "", "config": {"model_type": "wavlm", "hidden_size": 16,
    "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24,
    "conv_dim": [8, 8, 8], "conv_stride": [20, 4, 4], "conv_kernel": [40, 8, 4],
    "num_conv_pos_embeddings": 6, "num_conv_pos_embedding_groups": 2,
    "tdnn_dim": [8, 12], "tdnn_kernel": [3, 1], "tdnn_dilation": [2, 1],
    "xvector_output_dim": 6}})";

struct SpeakerSimilarityOptions {
  std::string path;
  Config config;

  void visit(OptionVisitor& v) {
    v("path", path,
      "folder of WavLMForXVector or Wav2Vec2ForXVector (transformers), or .nemo archive of "
      "EncDecSpeakerLabelModel (NeMo: TitaNet)",
      required());
    v("config", config, "in place of the folder: its config.json, for random weights");
  }
};

template <Family family>
Config options_of(const Config& foreign) {
  return options_from_hf(family, foreign);
}

/// The model of a folder, or one with random weights of a configuration.
std::unique_ptr<VoiceModel> model_of(const SpeakerSimilarityOptions& options,
                                     const BuildContext& context) {
  const bool is_random = !options.config.is_null();
  const std::string path = is_random ? "" : resolve_path(options.path, context.base_dir);
  if (!is_random && is_nemo_archive(path)) {
    return std::make_unique<SpeakerLabel>(speaker_label_from_nemo(read_nemo_config(path), path),
                                          path);
  }
  const std::string place = is_random ? context.path + ".config" : path;
  const Config foreign = is_random ? options.config : read_json(path + "/config.json");
  const Config* const type = foreign.find("model_type");
  const bool is_wav2vec2 = type != nullptr && type->is_scalar() && type->text() == "wav2vec2";
  const Family family = is_wav2vec2 ? Family::kWav2Vec2 : Family::kWavLm;
  const auto translate = is_wav2vec2 ? options_of<Family::kWav2Vec2> : options_of<Family::kWavLm>;
  Config node = Config::map();
  if (!is_random) node["path"] = Config::scalar(path, true);
  const Config config =
      is_random ? translate(foreign) : with_encoder_folder(node, context, translate);
  Wav2Vec2Options encoder = defaults_of(family, config);
  Findings findings;
  OptionReader(config, place, findings).read(encoder);
  findings.throw_if_any();
  check(encoder, place);
  auto model = std::make_unique<XVector>(encoder, x_vector_from_hf(foreign, place), place, path);
  model->materialize(at::kCPU, at::kFloat, 0);
  model->train(false);
  return model;
}

/// The same, once for all metrics that use the folder at a time: each set and each audio has one.
std::shared_ptr<VoiceModel> shared_model(const SpeakerSimilarityOptions& options,
                                         const BuildContext& context) {
  if (!options.config.is_null()) return model_of(options, context);
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<VoiceModel>> by_folder;
  const std::lock_guard lock(mutex);
  std::weak_ptr<VoiceModel>& known = by_folder[resolve_path(options.path, context.base_dir)];
  std::shared_ptr<VoiceModel> model = known.lock();
  if (model == nullptr) known = model = model_of(options, context);
  return model;
}

/// The speech of a clip, joined.
at::Tensor speech_in(const Spoken& spoken) {
  const AudioClip& clip = spoken.audio;
  if (!clip.samples_S.defined()) return {};
  std::vector<at::Tensor> parts_S;
  const auto sample_at = [&](double time_s) {
    const int64_t at = std::llround(time_s * static_cast<double>(clip.sample_rate_hz));
    return std::min(at, clip.samples_S.numel());
  };
  for (const SpeechSegment& segment : spoken.speech) {
    parts_S.push_back(
        clip.samples_S.slice(0, sample_at(segment.start_s), sample_at(segment.end_s)));
  }
  return parts_S.empty() ? at::Tensor() : at::cat(parts_S);
}

class SpeakerSimilarity final : public Metric {
 public:
  explicit SpeakerSimilarity(std::shared_ptr<VoiceModel> model) : model_(std::move(model)) {}
  MetricScope scope() const override { return MetricScope::kVoices; }
  bool needs_audio() const override { return true; }
  void add(const MetricExample& example) override {
    const at::Tensor ours_D = voice_of(example.hypothesis);
    const at::Tensor theirs_D = voice_of(example.reference);
    if (!ours_D.defined() || !theirs_D.defined()) return;
    sum_ += at::cosine_similarity(ours_D, theirs_D, 0).item<double>();
    ++count_;
  }
  std::vector<MetricValue> values() const override {
    return {{.value = sum_ / static_cast<double>(count_),
             .better = MetricValue::Better::kHigher,
             .label = "speaker similarity",
             .hint = "cosine of the voices in the answer and in the reference"}};
  }

 private:
  /// Undefined for speech that is too short.
  at::Tensor voice_of(const Spoken& spoken) const {
    const at::Tensor speech_S = speech_in(spoken);
    if (!speech_S.defined()) return {};
    return (*model_)(resample(speech_S.to(at::kCPU, at::kFloat), spoken.audio.sample_rate_hz,
                              model_->sample_rate_hz()));
  }

  std::shared_ptr<VoiceModel> model_;
  double sum_ = 0;
  int64_t count_ = 0;
};

std::unique_ptr<Metric> create_speaker_similarity(const Config& node, const BuildContext& context) {
  const auto options = read_options<SpeakerSimilarityOptions>(node, context.path);
  return std::make_unique<SpeakerSimilarity>(shared_model(options, context));
}

}  // namespace

Component<Metric> speaker_similarity() {
  return {.name = "speaker_similarity",
          .summary = "cosine of the voices in the answer and in the reference",
          .create = create_speaker_similarity,
          .options = list_options<SpeakerSimilarityOptions>,
          .tiny = kTinyModel,
          .weights = {{"microsoft/wavlm-base-plus-sv", ""}}};
}

}  // namespace s2s::wav2vec2
