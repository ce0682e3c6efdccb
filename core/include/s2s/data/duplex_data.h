#pragma once
// Converts cuts to batches of a duplex model: the `data` block, text channels, collation. Values
// and names follow NeMo's DuplexS2SDataset.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "s2s/batch.h"
#include "s2s/data/audio_loader.h"
#include "s2s/data/cuts.h"
#include "s2s/data/fingerprint.h"
#include "s2s/error.h"
#include "s2s/kinds/tokenizer.h"
#include "s2s/options.h"

namespace s2s {

/// How training batches are changed: noise, rooms and microphones in the user's audio, and turns of
/// the agent that the user interrupts. Keys of the `data` block, with NeMo's names and defaults.
struct UserAudioAugmentation {
  bool use_noise_aug = false;
  std::optional<std::string> noise_aug_path;
  double noise_prob = 0.99;
  int64_t noise_min_snr = 20, noise_max_snr = 50;
  double noise_prob_scale_user = 0.3;
  double noise_prob_scale_user_min_snr = -15, noise_prob_scale_user_max_snr = 24;
  double snr_measure_dur = 0;
  bool noise_resample = true;
  double noise_prob_low_pass = 0.1;
  bool force_use_noise_augmentation = false;
  bool use_room_ir_aug = false;
  std::optional<std::string> roomir_aug_path;
  double roomir_prob = 0;
  bool roomir_use_loudness_norm = true;
  bool use_mic_ir_aug = false;
  std::optional<std::string> micir_aug_path;
  double micir_prob = 0;
  bool micir_use_loudness_norm = true;
  double early_interruption_prob = 0;
  int64_t early_interruption_overlap_tokens = 13;

  void visit(OptionVisitor& v);
  /// Whether it may change a batch.
  bool any() const {
    return use_noise_aug || use_room_ir_aug || use_mic_ir_aug || early_interruption_prob > 0;
  }
};

/// Options of the `data` block of a config, without its data sets.
struct DuplexDataOptions {
  double frame_length = 0.08;
  int64_t source_sample_rate = 16000;
  int64_t target_sample_rate = 22050;
  std::vector<std::string> input_roles = {"user"};
  std::vector<std::string> output_roles = {"agent"};
  std::string user_text = "turn";
  int64_t user_text_delay = 1;
  std::string agent_text = "turn";
  int64_t agent_text_lead = 2;
  std::optional<int64_t> end_of_padding_id;
  std::string long_text = "keep";
  std::string word_align_position = "left";
  bool prepend_word_space = true;
  bool add_mcq_val_prompt = false;
  bool agent_audio = true;
  UserAudioAugmentation augmentation;
  bool allow_commands = false;
  double command_timeout_s = 600;

  void visit(OptionVisitor& v);
  /// Keys of the block that other code reads: train_ds, validation_ds, ...
  static std::vector<std::string> other_keys();
};

/// Counts of tokens and turns while a text channel is built.
struct TokenChannelCounts {
  int64_t turns = 0;
  int64_t long_turns = 0;          // text (with BOS) longer than its turn
  int64_t overwritten_tokens = 0;  // by an EOS or by another turn
  int64_t truncated_tokens = 0;    // beyond the end of the cut
  int64_t dropped_tokens = 0;      // dropped because their turn had ended (LongText::kDrop)
  int64_t skipped_turns = 0;       // begin beyond the end of the cut
  int64_t open_turns = 0;          // last until the end of the cut: no EOS

  TokenChannelCounts& operator+=(const TokenChannelCounts& other);
};

/// Duration and frame rate of a text channel.
struct FrameGrid {
  double duration_s = 0;
  double frame_length_s = 0.08;
  int64_t sample_rate_hz = 0;
};

/// Returns `text` without time marks ("<|12|>"). Runs of white space become one space, and none
/// remains at either end.
/// Source: NeMo s2s_dataset.py _strip_timestamps.
std::string clean_text(const std::string& text);

/// What to do with tokens of a turn that do not fit before the end of the turn.
enum class LongText {
  kKeep,  // write them after the EOS, as NeMo does
  kDrop,  // drop them: the EOS ends the turn
};

/// Text channel [T] of the speakers in `roles`, filled with PAD. Each turn, in list order, writes
/// BOS and its ids from the frame of its start, cut off at the end of the channel, and then EOS at
/// the frame of its end if that frame exists. An EOS may overwrite a token, and a later turn may
/// overwrite an earlier one. A turn that begins after the end of the channel is skipped.
/// Source: NeMo s2s_dataset.py build_token_channel.
std::vector<int64_t> build_token_channel(const std::vector<Supervision>& supervisions,
                                         const std::vector<std::string>& roles,
                                         const FrameGrid& grid, const Tokenizer& tokenizer,
                                         TokenChannelCounts* counts = nullptr,
                                         LongText long_text = LongText::kKeep);

/// Text channel [T] as above, but with word timing: the ids of each aligned word begin
/// `lead_frames` before the frame in which the word starts, or after the ids of the previous word.
/// A turn without word times is written as above. Source: inspired by Moshi's inner monologue
/// (Defossez et al. 2024).
std::vector<int64_t> build_spoken_channel(const std::vector<Supervision>& supervisions,
                                          const std::vector<std::string>& roles,
                                          const FrameGrid& grid, int64_t lead_frames,
                                          const Tokenizer& tokenizer,
                                          TokenChannelCounts* counts = nullptr,
                                          LongText long_text = LongText::kKeep);

/// Text channel [T] as an inner monologue: the ids of each aligned word from the frame in which the
/// word starts, without BOS and EOS. The next word takes the place of what is left of the
/// one before. `end_of_padding_id` takes the place of a PAD before a word. Words without duration,
/// and words that begin before the cut, are left out.
/// Source: kyutai-labs/moshi-finetune finetune/data/interleaver.py.
std::vector<int64_t> build_monologue_channel(const std::vector<Supervision>& supervisions,
                                             const std::vector<std::string>& roles,
                                             const FrameGrid& grid,
                                             std::optional<int64_t> end_of_padding_id,
                                             const Tokenizer& tokenizer,
                                             TokenChannelCounts* counts = nullptr);

/// Word channel [T], filled with PAD. The ids of each aligned word begin `delay_frames` after the
/// frame in which the word ends, or after the ids of the previous word. No BOS, no EOS.
std::vector<int64_t> build_word_channel(const std::vector<Supervision>& supervisions,
                                        const std::vector<std::string>& roles,
                                        const FrameGrid& grid, int64_t delay_frames,
                                        const Tokenizer& tokenizer,
                                        TokenChannelCounts* counts = nullptr);

/// The position of a word's ids between its time marks, if it has fewer ids than frames.
struct StampedWords {
  bool at_end = false;         // the last id at the end mark; false: the first at the start mark
  bool prepends_space = true;  // words after the first are encoded with a space in front
};

/// Text channel [T] whose turns are clipped: BOS and the ids from the frame of the turn's start, as
/// many as there are frames in the turn, and EOS at the frame of its end. If the text has two time
/// marks for each word ("<|12|> word <|15|>", in frames of 80 ms from the start of the turn), the
/// word's ids are placed between them. A turn without frames has an EOS only.
/// Source: NeMo duplex_stt_dataset.py _build_token_channel.
std::vector<int64_t> build_stamped_channel(const std::vector<Supervision>& supervisions,
                                           const std::vector<std::string>& roles,
                                           const FrameGrid& grid, const StampedWords& words,
                                           const Tokenizer& tokenizer,
                                           TokenChannelCounts* counts = nullptr);

/// A cut and the frame of the sequence at which it begins.
struct SequencePart {
  const Cut* cut = nullptr;
  int64_t first_frame = 0;
};

/// One row of a batch: a single cut, or several cuts placed one after another on the frame grid.
struct CutSequence {
  std::vector<SequencePart> parts;
  /// Total length in frames; 0: the duration of the only cut.
  int64_t num_frames = 0;

  /// The cut's id; for several cuts "id@frame+id@frame".
  std::string id() const;
};

/// How to build a batch. `frames_rate_hz`: the sample rate used to compute frames. 0: the
/// recording's own rate, or source_sample_rate for rows of several cuts (NeMo: the loader's
/// sample_rate). `codes_field`: the cuts' array of codec tokens that takes the place of the agent's
/// audio; "": none.
struct BatchSpec {
  DuplexDataOptions data;
  int64_t frames_rate_hz = 0;
  std::string codes_field = {};
};

/// The text channels and turns of one sequence, without audio.
struct SequenceText {
  std::vector<int64_t> target_tokens;
  std::vector<int64_t> source_tokens;
  std::vector<int64_t> prompt_tokens;  // BOS, the cut's system prompt, EOS; empty without one
  std::string task;                    // of the cut, "": none
  std::string target_text;
  std::vector<Turn> turns;
  TokenChannelCounts target_counts;
  TokenChannelCounts source_counts;
};
/// Computes the text channels and turns of one row.
SequenceText make_sequence_text(const CutSequence& sequence, const BatchSpec& spec,
                                const Tokenizer& tokenizer);

/// One loaded row of a batch. Audio is float32 [S]; target_S is undefined without agent_audio.
struct LoadedRow {
  std::string id;
  SequenceText text;
  at::Tensor source_S, target_S;
  at::Tensor codes_KT = {};  // int64; with codes_field
  uint64_t codec_id = 0;     // of the codec that made them
};
/// Errors: those of loading audio, [data/kept-codes].
LoadedRow load_row(const CutSequence& sequence, const BatchSpec& spec, const Tokenizer& tokenizer,
                   AudioLoader& loader);
/// Pads rows to the longest: audio with zeros, tokens with `pad`. If a row has a prompt, `others`
/// has prompt_tokens [B, P] and prompt_token_lens [B]; if a row's task is ASR, task_is_asr [B]; if
/// rows have codes, codec_of_codes [B].
Batch collate_rows(std::vector<LoadedRow> rows, int64_t pad);

/// Loads all rows and pads them. Errors: those of loading audio.
Batch make_batch(const std::vector<CutSequence>& rows, const BatchSpec& spec,
                 const Tokenizer& tokenizer, AudioLoader& loader);

/// Checks one cut like check_duplex_cuts, but does not look for its files.
void check_duplex_cut(const Cut& cut, const DuplexDataOptions& options, bool allow_no_turns,
                      Findings& findings);

/// Reports cuts that a duplex model cannot use: [data/no-recording], [data/no-target],
/// [data/no-turns] (no turn of either role, unless `allow_no_turns`), [data/turn-time] (a turn
/// begins before its cut), [data/no-text], [data/no-alignment] (user_text: word_end or agent_text:
/// word_start or inner_monologue without word times), and with `check_files` [data/missing-file].
void check_duplex_cuts(const std::vector<Cut>& cuts, const DuplexDataOptions& options,
                       bool allow_no_turns, bool check_files, Findings& findings);

}  // namespace s2s
