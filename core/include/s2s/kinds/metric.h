#pragma once
// Metric: scores of what a model said, over a set of examples. Kind `metric`.

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "s2s/batch.h"
#include "s2s/kinds/scorer.h"
#include "s2s/speech_segment.h"

namespace s2s {

/// A token of a text channel in a frame. Silence (PAD) is not listed.
struct TokenMark {
  enum class Kind { kText, kBos, kEos };
  int64_t frame = 0;
  Kind kind = Kind::kText;
  std::string text;  // text to show; a leading blank begins a word
};

/// A word of a text channel, from the start of its first frame to the end of its last one.
struct TimedWord {
  std::string text;
  double start_s = 0;
  double end_s = 0;
};

/// What one speaker said. What is not known is empty.
struct Spoken {
  std::optional<std::string> text;    // not set: not produced, which differs from ""
  std::string normalized;             // the text after the normalizer of core/docs (metrics.md)
  AudioClip audio;                    // from time 0 of the dialogue; see Metric::needs_audio
  std::vector<SpeechSegment> speech;  // detected in the audio, in time order
  std::vector<TokenMark> tokens;      // of the text channel
  std::vector<TimedWord> words;       // of the text channel
  /// Words that the scorer heard in the audio. Not set: it did not listen, or tells no times.
  std::optional<std::vector<RecognizedWord>> heard;
};

/// One validated dialogue, or one prompt and its answer.
struct MetricExample {
  std::string id;
  std::string data_set;
  std::vector<Turn> turns;       // planned turns of both speakers
  double duration_s = 0;         // of the longest clip
  Spoken hypothesis, reference;  // the agent: by the model, and by the data
  Spoken user_hypothesis, user;  // the user: what the model wrote of the words, and by the data
};

/// Which hypotheses of an example a metric is given. Each has an instance of its own.
enum class MetricScope {
  /// Each text of the agent: its text channel (txt_NAME in metrics.jsonl) and, with a scorer, the
  /// transcripts of its audio (asr_NAME), of the reference audio (asr_NAME_reference) and of the
  /// codec round trip (asr_NAME_round_trip). Then `hypothesis.text` is set. Also the model's text
  /// of the user's words, with these in the places of hypothesis and reference.
  kTexts,
  /// Each audio of the agent: the model's (NAME), the reference and the codec round trip, which
  /// only reports show. `hypothesis.speech` and `turns` are known.
  kVoices,
  /// Each example once (NAME), with the text channel and the model's audio as the hypothesis.
  kExamples,
};

/// A score with its name, and how reports show it.
struct MetricValue {
  enum class Better { kNeither, kHigher, kLower };
  /// NAME in metrics.jsonl, and of `monitor`. "": that of the component. A metric of the component
  /// "vendor.x" gets the prefix "vendor_x_".
  std::string name = {};
  double value = std::numeric_limits<double>::quiet_NaN();  // NaN: there was nothing to measure
  Better better = Better::kNeither;
  std::string label = {};  // of the row in tables; "": NAME
  std::string hint = {};   // one sentence that explains the row
  std::string unit = {};   // "%", "s" or ""; a "%" value is a fraction of one
  bool is_logged = true;
  bool is_in_tables = true;
  bool is_count = false;       // a whole number
  std::string json_name = {};  // in scores.json; "": `name`
  /// kTexts: name, label and hint of the score of the user's words. "": it is in scores.json only.
  std::string user_name = {}, user_label = {}, user_hint = {};
};

/// Sums examples, and tells the scores over all of them.
class Metric {
 public:
  virtual ~Metric();
  virtual MetricScope scope() const { return MetricScope::kTexts; }
  /// Whether `audio` of the example's speakers is read. A training run keeps the audio of its
  /// validations for such metrics only.
  virtual bool needs_audio() const { return false; }
  /// Adds one example.
  virtual void add(const MetricExample& example) = 0;
  /// The scores over all added examples, always the same ones in the same order. Without examples
  /// their values are not used.
  virtual std::vector<MetricValue> values() const = 0;
};

}  // namespace s2s
