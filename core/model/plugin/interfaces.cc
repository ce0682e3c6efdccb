// The key functions of the component interfaces. They put each class's type information into one
// library, so that it is the same object in the host and in every plugin. The key functions of the
// data layer are in duplex/kinds.cc.

#include "s2s/error.h"
#include "s2s/kinds/backbone.h"
#include "s2s/kinds/codec.h"
#include "s2s/kinds/communicator.h"
#include "s2s/kinds/encoder.h"
#include "s2s/kinds/logger.h"
#include "s2s/kinds/metric.h"
#include "s2s/kinds/model_capabilities.h"
#include "s2s/kinds/optimizer.h"
#include "s2s/kinds/schedule.h"
#include "s2s/kinds/scorer.h"
#include "s2s/kinds/shared_widths.h"
#include "s2s/kinds/speaks_turns.h"
#include "s2s/nn/token_sampling.h"
#include "s2s/parallel/whole_parameters.h"
#include "s2s/registry.h"

namespace s2s {
namespace {

Error no_stream_state() {
  return config_error(
      "codec/stream-state",
      "the streams of this codec cannot be saved\n  expected: a codec whose streams "
      "have `state` and `restore` (s2s/kinds/codec.h)");
}

}  // namespace

Backbone::~Backbone() = default;
Config Backbone::hf_config() const { return {}; }
double Backbone::logit_soft_cap() const { return 0; }
bool Backbone::steps_repeat() const { return false; }
EncoderStream::~EncoderStream() = default;
Encoder::~Encoder() = default;
double Encoder::forward_flops(int64_t rows, int64_t num_samples) {
  double parameters = 0;
  for (const NamedTensor& parameter : named_parameters()) {
    parameters += static_cast<double>(c10::multiply_integers(parameter.sizes));
  }
  return 2 * parameters * static_cast<double>(rows * output_width(num_samples));
}
CodecStream::~CodecStream() = default;
std::map<std::string, at::Tensor> CodecStream::state() const { throw no_stream_state(); }
void CodecStream::restore(const std::map<std::string, at::Tensor>&) { throw no_stream_state(); }
CodecEncoderStream::~CodecEncoderStream() = default;
std::map<std::string, at::Tensor> CodecEncoderStream::state() const { throw no_stream_state(); }
void CodecEncoderStream::restore(const std::map<std::string, at::Tensor>&) {
  throw no_stream_state();
}
Codec::~Codec() = default;
Scorer::~Scorer() = default;

std::vector<Transcript> Scorer::transcripts(const std::vector<AudioClip>& clips) {
  std::vector<Transcript> found;
  for (std::string& text : transcribe(clips)) found.push_back({std::move(text), {}, {}});
  return found;
}

Model::~Model() = default;
std::vector<std::string> Model::metric_names() const { return {}; }
std::vector<StagePart> Model::stages() { return {}; }
std::map<std::string, double> Model::metrics_of(const MetricSums& sums) const {
  std::map<std::string, double> means;
  for (const auto& [name, value] : sums) {
    if (value.second > 0) means[name] = value.first / value.second;
  }
  return means;
}
HasLanguageModel::~HasLanguageModel() = default;
TakesAdapters::~TakesAdapters() = default;
HasForeignClass::~HasForeignClass() = default;
bool HasForeignClass::is_exported(const std::string&) const { return true; }
ForeignParts HasForeignClass::foreign_parts() const { return {}; }
HasCodec::~HasCodec() = default;
RunsReferences::~RunsReferences() = default;
std::vector<std::string> RunsReferences::decoded_outputs() const {
  return {"tokens_text", "tokens_audio"};
}
MakesProbeBatches::~MakesProbeBatches() = default;
DuplexSessions::~DuplexSessions() = default;
DuplexSession::DuplexSession(std::unique_ptr<DuplexSessions> sessions,
                             const SamplingOptions& sampling)
    : sessions_(std::move(sessions)) {
  sessions_->open(0, sampling);
}
DuplexSession::Output DuplexSession::push(const at::Tensor& samples_S) {
  return std::move(sessions_->push({samples_S})[0]);
}
DuplexSession::Output DuplexSession::finish() { return sessions_->close(0); }
AnswersSpeech::~AnswersSpeech() = default;
std::unique_ptr<DuplexSession> AnswersSpeech::open_session(const SamplingOptions& sampling) {
  std::unique_ptr<DuplexSessions> sessions = open_sessions(1);
  if (sessions == nullptr) return nullptr;
  return std::make_unique<DuplexSession>(std::move(sessions), sampling);
}
std::unique_ptr<DuplexSession> AnswersSpeech::open_session() { return open_session({}); }
Generation AnswersSpeech::answer(const Batch& batch, bool decode_audio) {
  return generate(batch.source_audio_BS, batch.source_audio_lens_B, decode_audio);
}
TextGenerator::~TextGenerator() = default;
SpokenChannel::~SpokenChannel() = default;
SpeaksText::~SpeaksText() = default;
SpeaksTurns::~SpeaksTurns() = default;
SharesWidths::~SharesWidths() = default;
std::vector<TextPrompt> TextGenerator::prompts_of(const Batch&) { return {}; }
int64_t TextGenerator::source_sample_rate_hz() const { return 0; }
Optimizer::~Optimizer() = default;
bool Optimizer::step_scaled(double, const GradientScale&) { return false; }
WholeParameters::~WholeParameters() = default;
UsesWholeParameters::~UsesWholeParameters() = default;
OffersWholeParameters::~OffersWholeParameters() = default;
Schedule::~Schedule() = default;
CollectiveObserver::~CollectiveObserver() = default;
void CollectiveObserver::waiting(const CollectiveRecord&) {}
void CollectiveObserver::enqueued(const CollectiveRecord& record, std::unique_ptr<CollectiveWork>) {
  finished(record, /*failed=*/false);
}
std::chrono::milliseconds CollectiveObserver::time_limit(std::chrono::milliseconds usual) const {
  return usual;
}
std::string CollectiveObserver::explain_failure(const CollectiveRecord&, const GroupPlace&,
                                                const std::string&) {
  return "";
}
CollectiveWork::~CollectiveWork() = default;
Communicator::~Communicator() = default;
Metric::~Metric() = default;
RunLogger::~RunLogger() = default;
void RunLogger::start(const LoggedRun&) {}
void RunLogger::log_text(int64_t, const std::string&, const std::string&) {}
void RunLogger::log_audio(int64_t, const std::string&, const LoggedAudio&) {}
void RunLogger::log_image(int64_t, const std::string&, const LoggedImage&) {}
void RunLogger::log_histogram(int64_t, const std::string&, const LoggedHistogram&) {}
void RunLogger::finish(bool) {}

}  // namespace s2s
