#pragma once
// What a model can do beside training. Each capability is an interface. A model implements those
// that it has, a command asks for the one that it needs (find_capability), and refuses a model
// without it in one message.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "s2s/config.h"
#include "s2s/kinds/codec.h"
#include "s2s/kinds/model.h"
#include "s2s/kinds/tokenizer.h"

namespace s2s {

class Backbone;
struct SamplingOptions;

/// Contains a language model of kind `llm`: model.lora adapts it, and `checkpoint export` writes
/// it.
class HasLanguageModel {
 public:
  virtual ~HasLanguageModel();
  /// A descendant of the model.
  virtual Backbone& language_model() = 0;
};

/// Every linear layer outside the codec, the head excepted, can get an adapter of model.lora. For
/// models without a language model of kind `llm`. Adapters have the names of checkpoint_names().
class TakesAdapters {
 public:
  virtual ~TakesAdapters();
};

/// Parts of a foreign model that ours does not contain, for example its codec.
struct ForeignParts {
  std::vector<std::string> config_keys;  // top-level keys of config.json
  std::vector<std::string> tensors;      // patterns of names
};

/// Has a class in transformers: `checkpoint export` writes the whole model for its from_pretrained.
class HasForeignClass {
 public:
  virtual ~HasForeignClass();
  /// The config.json of this model, without parts that it does not contain.
  virtual Config hf_config() const = 0;
  /// False for a tensor that serves training only, and that the class does not have. Default: true.
  virtual bool is_exported(const std::string& name) const;
  /// What an export copies from the folder that model.path names. Default: nothing.
  virtual ForeignParts foreign_parts() const;
};

/// Contains a codec. It stays float32, and gets its statistics before the first step. A model whose
/// codec has parameters is validated by what the codec makes of the agent's audio.
class HasCodec {
 public:
  virtual ~HasCodec();
  /// A descendant of the model.
  virtual Codec& codec() = 0;
};

/// Runs on the inputs of a reference file (core/docs: reference files). Names have no "input/" and
/// "output/" prefixes.
class RunsReferences {
 public:
  virtual ~RunsReferences();
  /// `training` true: computes a training step in the reference's train mode and keeps the graph;
  /// "loss" is its total. False: greedy decoding in eval mode. Returns the outputs by name.
  virtual std::map<std::string, at::Tensor> reference_outputs(
      const std::map<std::string, at::Tensor>& inputs, bool training) = 0;
  /// The outputs of reference_outputs with `training` false. Default: tokens_text, tokens_audio.
  virtual std::vector<std::string> decoded_outputs() const;
};

/// Size of a batch that tune-batch tries.
struct ProbeBatch {
  int64_t rows = 1;
  double duration_s = 0;  // of each row; models without audio: 0
  int64_t tokens = 0;     // text tokens of a row; 0: as many as fit
};

/// Makes batches of random values, for tune-batch.
class MakesProbeBatches {
 public:
  virtual ~MakesProbeBatches();
  /// A batch on the CPU of which every position counts.
  virtual Batch probe_batch(const ProbeBatch& shape) = 0;
};

/// The model's answers to a batch. B rows, T frames, K codebooks, S samples. A model without a
/// voice leaves the audio undefined.
struct Generation {
  std::vector<std::string> text;  // decoded text channel, per row
  at::Tensor tokens_text_BT;      // int64
  at::Tensor tokens_audio_BTK;    // int64, control tokens included
  at::Tensor token_lens_B;        // int64
  at::Tensor audio_BS;            // float32 at answer_sample_rate_hz(); undefined if not requested
  at::Tensor audio_lens_B;
  std::vector<std::string> user_text;  // the user's words as the model wrote them, per row
};

/// Live conversations side by side, each in a slot: user audio in, agent audio and text out. A slot
/// has its own sampling and random numbers, and what it says does not depend on the other slots.
class DuplexSessions {
 public:
  /// The new output of a slot.
  struct Output {
    at::Tensor audio_S;                // new agent samples, may be empty
    std::vector<int64_t> text_tokens;  // one per new frame
    at::Tensor codes_TK;               // codec tokens of the same frames
  };
  virtual ~DuplexSessions();
  /// How many conversations there is room for.
  virtual int64_t num_slots() const = 0;
  /// Begins a conversation in a slot. One that is open there is dropped.
  virtual void open(int64_t slot, const SamplingOptions& sampling) = 0;
  /// The next audio of all slots, [S] float32 each at the encoder's rate, of any length; undefined
  /// for slots that are not active now. An active slot is open. Returns an output for each slot.
  virtual std::vector<Output> push(const std::vector<at::Tensor>& samples) = 0;
  /// Ends the conversation in a slot and returns the rest of its answer.
  virtual Output close(int64_t slot) = 0;
};

/// One live conversation: sessions with a single slot.
class DuplexSession {
 public:
  using Output = DuplexSessions::Output;
  DuplexSession(std::unique_ptr<DuplexSessions> sessions, const SamplingOptions& sampling);
  /// samples [S] float32 at the encoder's rate.
  Output push(const at::Tensor& samples_S);
  Output finish();

 private:
  std::unique_ptr<DuplexSessions> sessions_;
};

/// Answers the user's speech while it listens, in text and (with a codec) in speech. Used by
/// `generate`, by `validate` and its report, and by live sessions.
class AnswersSpeech {
 public:
  virtual ~AnswersSpeech();
  /// Sets how generate() and answer() choose the tokens of both channels. Default: greedy.
  /// Repetition penalties apply to the words of the text channel only. Each call starts a new
  /// random stream from the seed.
  virtual void choose_tokens_by(const SamplingOptions& sampling) = 0;
  /// Source audio [B, S] and lengths [B].
  virtual Generation generate(const at::Tensor& audio_BS, const at::Tensor& lengths_B,
                              bool decode_audio) = 0;
  /// Answers the rows of a validation batch. Default: generate() with its user audio. A model that
  /// also reads other tensors of its data, such as prompts, overrides it.
  virtual Generation answer(const Batch& batch, bool decode_audio);
  /// Room for `num_slots` live conversations. Null: the model cannot stream.
  virtual std::unique_ptr<DuplexSessions> open_sessions(int64_t num_slots) = 0;
  /// One conversation; null: the model cannot stream.
  std::unique_ptr<DuplexSession> open_session(const SamplingOptions& sampling);
  std::unique_ptr<DuplexSession> open_session();  // greedy
  virtual const Tokenizer& tokenizer() const = 0;
  virtual double frame_length_s() const = 0;
  virtual int64_t source_sample_rate_hz() const = 0;
  /// Of its voice; 0: it has none.
  virtual int64_t answer_sample_rate_hz() const = 0;
};

/// How TextGenerator continues prompts.
struct TextGenerationOptions {
  int64_t max_new_tokens = 128;
  std::vector<std::string> stop;    // texts that end an answer; they are not part of it
  std::vector<int64_t> end_tokens;  // ids that end an answer, in addition to the model's own
  int64_t num_beams = 1;            // above 1: beam search
  double length_penalty = 1;        // of beam search: scores are divided by length to this power
  /// Called before each further pass of the language model, with whether an answer is still open.
  /// Returns whether to run it: ranks of a sharded model run all passes together. Empty: while an
  /// answer is open. Not used by beam search.
  std::function<bool(bool is_open)> goes_on = {};
};

/// What a text answer continues.
struct TextPrompt {
  std::vector<int64_t> ids;          // special tokens included
  std::vector<at::Tensor> audios_S;  // float32 at source_sample_rate_hz(), in order of use
};

/// What a model wrote.
struct TextAnswer {
  std::string text;             // without special tokens and stop texts
  std::vector<int64_t> tokens;  // new tokens, the one that ended it included
  bool is_ended = false;        // by an end token or a stop text; else by max_new_tokens
};

/// Continues prompts with text.
class TextGenerator {
 public:
  virtual ~TextGenerator();
  /// Answers all prompts as one batch, in order. Prompts may have different lengths.
  virtual std::vector<TextAnswer> continue_prompts(const std::vector<TextPrompt>& prompts,
                                                   const TextGenerationOptions& options,
                                                   const SamplingOptions& sampling) = 0;
  /// The rows of a batch without their last answers, one prompt per row, for answers that are
  /// compared with Batch::target_texts. Default: none, the model cannot tell them from a batch.
  virtual std::vector<TextPrompt> prompts_of(const Batch& batch);
  virtual const Tokenizer& tokenizer() const = 0;
  /// The rate of a prompt's audio; 0: prompts have none.
  virtual int64_t source_sample_rate_hz() const;
};

/// Voices that speak the text channels of B rows, frame by frame.
class SpokenChannel {
 public:
  virtual ~SpokenChannel();
  /// text [B, N] int64, the channels' next frames -> codes [B, N, K] int64 of the same frames.
  virtual at::Tensor push(const at::Tensor& text_BN) = 0;
};

/// Speaks text channels that are given to it.
class SpeaksText : public HasCodec {
 public:
  ~SpeaksText() override;
  /// Begins to speak with voices [B, S] float32 at the codec's rate, of lengths [B].
  virtual std::unique_ptr<SpokenChannel> open_speech(const at::Tensor& voices_BS,
                                                     const at::Tensor& lengths_B) = 0;
  /// The voices, as above, of a batch's rows (Batch::ids): that of the configuration, else the
  /// batch's own, else silence.
  virtual std::pair<at::Tensor, at::Tensor> voices_of(const Batch& batch) = 0;
  /// The text channel [N] int64 in which `text` alone is spoken, with the frames that it takes.
  virtual at::Tensor channel_of(const std::string& text) const = 0;
  virtual const Tokenizer& tokenizer() const = 0;
};

/// The model as `Capability`, or null when it lacks it.
template <class Capability>
Capability* find_capability(Model& model) {
  return dynamic_cast<Capability*>(&model);
}

/// Throws [model/capability]: a model of `type` cannot `what` ("answer speech").
[[noreturn]] void throw_no_capability(const std::string& type, const std::string& what);

/// The model as `Capability`. `type`: model.type. `what` the caller wants to do, for the message.
/// Errors: [model/capability].
template <class Capability>
Capability& require_capability(Model& model, const std::string& type, const std::string& what) {
  Capability* const found = find_capability<Capability>(model);
  if (found == nullptr) throw_no_capability(type, what);
  return *found;
}

}  // namespace s2s
