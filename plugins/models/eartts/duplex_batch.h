#pragma once
// DuplexEARTTS's view of a batch: a prompt with the speaker's voice, codes, and shifted text.
// Source: NeMo's DuplexEARTTSDataset.maybe_add_audio_prompt and DuplexEARTTS.prepare_inputs. Shape
// letters: B batch, S samples, T frames, K books.

#include <string>
#include <utility>
#include <vector>

#include "s2s/batch.h"
#include "s2s/kinds/codec.h"
#include "tts_core.h"

namespace s2s::eartts {

/// The prompt before the speech (keys of NeMo's data block).
struct PromptOptions {
  bool add_audio_prompt = true;
  double audio_prompt_duration = 3.0;
  int64_t num_delay_speech_tokens = 0;
  void visit(OptionVisitor& v) {
    v("add_audio_prompt", add_audio_prompt, "the speaker's voice precedes the speech");
    v("audio_prompt_duration", audio_prompt_duration, "length of that prompt in seconds",
      at_least(0));
    v("num_delay_speech_tokens", num_delay_speech_tokens,
      "frames by which speech comes after its text", at_least(0));
  }
};

/// Audio and text of the agent after a prompt.
struct PromptedBatch {
  at::Tensor audio_BS, audio_lens_B;  // at the codec's rate
  at::Tensor text_BT;                 // int64
  at::Tensor non_prompt_BT;           // bool, true: speech that is learned, from the prompt's last
                                      // frame on
};

class BatchMaker {
 public:
  BatchMaker(const PromptOptions& options, const SpecialIds& ids, const CodecShape& codec)
      : options_(options), ids_(ids), codec_(codec) {}

  /// Frames of a voice before speech, and those that training adds.
  int64_t voice_frames() const;
  int64_t prompt_frames() const { return options_.add_audio_prompt ? voice_frames() : 0; }
  /// Adds prompts to the speech of a batch (target_audio, target_tokens). The voice is a part of
  /// others["audio_prompt"] (with audio_prompt_lens), else of one of the agent's turns. The row's
  /// id and the step select it.
  PromptedBatch with_prompts(const Batch& batch, int64_t step) const;
  /// The voices of a batch's rows in validation, [B, S], and their lengths [B].
  std::pair<at::Tensor, at::Tensor> voices_of(const Batch& batch) const;
  /// Reads the tensors of a batch from NeMo's data set. Errors: [eartts/batch].
  static PromptedBatch from_nemo(const TensorMap& others);
  /// The voice [S] as a prompt: a part from `start` on, or a repetition, with two silent frames at
  /// the end.
  at::Tensor prompt_audio(const at::Tensor& voice_S, int64_t start) const;
  /// Inputs of a training step. `encode` runs the codec.
  TtsInputs prepare(const PromptedBatch& batch, Codec& codec) const;
  /// Inputs that start generation with voices [B, S] of lengths [B]. Errors: [eartts/sizes].
  TtsInputs prompt_inputs(const at::Tensor& voice_BS, const at::Tensor& lengths_B,
                          Codec& codec) const;

 private:
  at::Tensor voice_of(const Batch& batch, int64_t row, const std::string& id, int64_t step) const;

  PromptOptions options_;
  SpecialIds ids_;
  CodecShape codec_;
};

}  // namespace s2s::eartts
