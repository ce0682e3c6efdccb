#pragma once
// From cuts to the batches of a duplex model: the `data` block, token channels, collation.
// Numbers and names follow NeMo's DuplexS2SDataset.

#include <cstdint>
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

/// The `data` block of a config without its data sets.
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
  std::string long_text = "keep";
  bool allow_commands = false;
  double command_timeout_s = 600;

  void visit(OptionVisitor& v);
  /// Keys of the block that belong to others: train_ds, validation_ds, ...
  static std::vector<std::string> other_keys();
};

/// What happened to text while a token channel was written.
struct TokenChannelCounts {
  int64_t turns = 0;
  int64_t long_turns = 0;          // text (with BOS) longer than its turn
  int64_t overwritten_tokens = 0;  // by an EOS or by another turn
  int64_t truncated_tokens = 0;    // beyond the end of the cut
  int64_t dropped_tokens = 0;      // left out because their turn was over (LongText::kDrop)
  int64_t skipped_turns = 0;       // begin beyond the end of the cut
  int64_t open_turns = 0;          // end at the end of the cut: no EOS

  TokenChannelCounts& operator+=(const TokenChannelCounts& other);
};

/// Where a channel's frames lie.
struct FrameGrid {
  double duration_s = 0;
  double frame_length_s = 0.08;
  int64_t sample_rate_hz = 0;
};

/// `text` without time marks ("<|12|>"), runs of white space as one blank, none at the ends.
/// Source: NeMo s2s_dataset.py _strip_timestamps.
std::string clean_text(const std::string& text);

/// What becomes of a turn's tokens that come after its end.
enum class LongText {
  kKeep,  // they are written behind the EOS, as NeMo does
  kDrop,  // they are left out: the EOS ends the turn
};

/// Text channel [T] of the speakers in `roles`: PAD; for each turn in list order BOS and its ids
/// from the frame of its start, cut off at the channel's end, then EOS at the frame of its end if
/// that is inside. An EOS may overwrite a token; a later turn may overwrite an earlier one; a turn
/// that begins beyond the end is skipped.
/// Source: NeMo s2s_dataset.py build_token_channel.
std::vector<int64_t> build_token_channel(const std::vector<Supervision>& supervisions,
                                         const std::vector<std::string>& roles,
                                         const FrameGrid& grid, const Tokenizer& tokenizer,
                                         TokenChannelCounts* counts = nullptr,
                                         LongText long_text = LongText::kKeep);

/// Text channel [T] as above, but each aligned word's ids begin `lead_frames` before the frame of
/// the word's start, or behind what was written before it: the text goes along with the voice. A
/// turn without word times is written as above. Source: the idea of Moshi's inner monologue
/// (Defossez et al. 2024).
std::vector<int64_t> build_spoken_channel(const std::vector<Supervision>& supervisions,
                                          const std::vector<std::string>& roles,
                                          const FrameGrid& grid, int64_t lead_frames,
                                          const Tokenizer& tokenizer,
                                          TokenChannelCounts* counts = nullptr,
                                          LongText long_text = LongText::kKeep);

/// Word channel [T]: PAD, and the ids of each aligned word from `delay_frames` after the frame of
/// its end, or behind the word before when that is still being written. No BOS, no EOS.
std::vector<int64_t> build_word_channel(const std::vector<Supervision>& supervisions,
                                        const std::vector<std::string>& roles,
                                        const FrameGrid& grid, int64_t delay_frames,
                                        const Tokenizer& tokenizer,
                                        TokenChannelCounts* counts = nullptr);

/// A cut and the frame of the sequence where it begins.
struct SequencePart {
  const Cut* cut = nullptr;
  int64_t first_frame = 0;
};

/// One row of a batch: a cut as it is, or several one after the other on the frame grid.
struct CutSequence {
  std::vector<SequencePart> parts;
  /// Whole length in frames; 0: the only cut's own duration.
  int64_t num_frames = 0;

  /// The cut's id; for several parts "id@frame+id@frame".
  std::string id() const;
};

/// How a batch is made. `frames_rate_hz`: rate of the frame arithmetic; 0: the recording's own, or
/// source_sample_rate for several parts (NeMo: the loader's sample_rate).
struct BatchSpec {
  DuplexDataOptions data;
  int64_t frames_rate_hz = 0;
};

/// Text channel arithmetic of one sequence, without audio.
struct SequenceText {
  std::vector<int64_t> target_tokens;
  std::vector<int64_t> source_tokens;
  std::string target_text;
  std::vector<Turn> turns;
  TokenChannelCounts target_counts;
  TokenChannelCounts source_counts;
};
/// The text channels and turns of one row, without its audio.
SequenceText make_sequence_text(const CutSequence& sequence, const BatchSpec& spec,
                                const Tokenizer& tokenizer);

/// One row of a batch, loaded: audio float32 [S], as long as the row says.
struct LoadedRow {
  std::string id;
  SequenceText text;
  at::Tensor source_S, target_S;
};
/// Errors: those of loading audio.
LoadedRow load_row(const CutSequence& sequence, const BatchSpec& spec, const Tokenizer& tokenizer,
                   AudioLoader& loader);
/// Pads rows to the longest: audio with zeros, tokens with `pad`.
Batch collate_rows(std::vector<LoadedRow> rows, int64_t pad);

/// Loads and pads. Errors: those of loading audio.
Batch make_batch(const std::vector<CutSequence>& rows, const BatchSpec& spec,
                 const Tokenizer& tokenizer, AudioLoader& loader);

/// What check_duplex_cuts finds in one cut, without looking for its files.
void check_duplex_cut(const Cut& cut, const DuplexDataOptions& options, bool allow_no_turns,
                      Findings& findings);

/// Finds what makes cuts useless for a duplex model: [data/no-recording], [data/no-target],
/// [data/no-turns] (no turn of either role, unless `allow_no_turns`), [data/turn-time] (a turn
/// begins before its cut), [data/no-text],
/// [data/no-alignment] (user_text: word_end or agent_text: word_start without word times), and with
/// `check_files` [data/missing-file].
void check_duplex_cuts(const std::vector<Cut>& cuts, const DuplexDataOptions& options,
                       bool allow_no_turns, bool check_files, Findings& findings);

}  // namespace s2s
