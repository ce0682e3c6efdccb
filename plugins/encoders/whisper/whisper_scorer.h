#pragma once
// Whisper as a recognizer: its encoder, its decoder, and the windows of clips. Shape letters: B
// clips, S samples, F mel bands, M mel frames, T frames, H width, U ids, V vocabulary.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fallback.h"
#include "generation_config.h"
#include "s2s/kinds/model_capabilities.h"
#include "s2s/kinds/scorer.h"
#include "s2s/kinds/tokenizer.h"
#include "segments.h"
#include "text_decoder.h"
#include "whisper.h"

namespace s2s::whisper {

class WhisperScorer : public Scorer, public Block, public RunsReferences {
 public:
  struct Parts {
    std::unique_ptr<Whisper> encoder;
    DecoderOptions decoder;
    GenerationConfig generation;
    std::unique_ptr<Tokenizer> tokenizer;  // null: there are no texts, only ids
    std::string weights_path;              // "": random weights
    int64_t batch_size = 1;
  };
  explicit WhisperScorer(Parts parts);
  ~WhisperScorer() override;

  void prepare(const std::vector<std::string>&) override {}
  /// Windows of several clips are recognized side by side. Silence has no words.
  std::vector<std::string> transcribe(const std::vector<AudioClip>& clips) override;
  /// With the times of words, if generation_config.json has alignment_heads: a word begins with the
  /// time of the id before it, and ends with that of its last one.
  std::vector<Transcript> transcripts(const std::vector<AudioClip>& clips) override;
  /// Inputs: audio [B, S], lengths, labels [B, U]; the weights by their names, below "weights/".
  /// Outputs: features of the first windows, lengths, logits of `labels`, prompt, ids, id_lengths,
  /// id_times, id_probabilities, segments, confidence.
  std::map<std::string, at::Tensor> reference_outputs(
      const std::map<std::string, at::Tensor>& inputs, bool training) override;

 protected:
  std::unique_ptr<WeightSource> initial_values() override;

 private:
  /// What is known of a clip.
  struct Clip {
    at::Tensor samples_S;      // on the CPU
    at::Tensor mel_FM;         // from its first window to its last
    int64_t mel_frames = 0;    // one window or more
    int64_t audio_frames = 0;  // mel frames that the audio fills
    int64_t next = 0;          // mel frame where the next window begins
    int64_t length_limit = 0;  // GenerationConfig::limit
    bool with_timestamps = false;
    bool is_conditioned = false;  // the next window, on what was written
    bool has_written = false;
    at::Generator random;
    std::vector<int64_t> prompt, ids;
    std::vector<int64_t> written;       // what the next window may be conditioned on
    std::vector<double> times;          // of the ids, in seconds
    std::vector<double> begins;         // of the windows of the ids, in seconds
    std::vector<double> probabilities;  // of the ids
    std::vector<Segment> segments;      // their ids count from the clip's first one
    double sum_log_probability = 0;     // of all ids of windows with speech, also of those that end
    double num_probabilities = 0;       // a text, and of how many

    bool is_open() const { return next < mel_frames; }
    /// The exponential of the mean; empty where no window has speech.
    std::optional<double> confidence() const;
  };

  NameMap checkpoint_names() const;
  Clip clip_of(const at::Tensor& samples_S) const;
  /// The clip's next window, zeros after its end. [F, M].
  at::Tensor next_window(Clip& clip);
  at::Tensor features_of(const Clip& clip);
  /// The next window's prompt, and what is asked for of it.
  WindowTask next_task(Clip& clip) const;
  std::vector<int64_t> earlier_of(const Clip& clip) const;
  void recognize(std::vector<Clip>& clips, bool with_times);
  void recognize_windows(const std::vector<Clip*>& clips, bool with_times);
  void add_window(const WindowText& text, Clip& clip);
  void detect(const std::vector<Clip*>& clips, const at::Tensor& frames_BTH);
  std::vector<Transcript> transcripts(const std::vector<AudioClip>& clips, bool with_times);
  std::string text_of(const std::vector<int64_t>& ids) const;
  std::vector<RecognizedWord> words_of(const Clip& clip) const;

  Parts parts_;
  TextDecoder decoder_;
};

}  // namespace s2s::whisper
