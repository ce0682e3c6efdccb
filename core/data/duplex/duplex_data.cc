#include "s2s/data/duplex_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <unordered_set>

#include "base/text.h"
#include "cuts/cuts_errors.h"
#include "duplex/time_marks.h"

namespace s2s {
namespace {

using cuts_errors::listed;

Error no_turns(const Cut& cut, const std::vector<std::string>& speakers,
               const std::vector<std::string>& roles) {
  return data_error(
      "data/no-turns",
      fmt::format(
          "{} has no turn of {}; its speakers are: {}; expected at least one turn; check "
          "data.input_roles and data.output_roles, or set allow_no_turns: true to train on silence",
          cut.place(), listed(roles), listed(speakers)));
}

Error no_text(const Cut& cut, const Supervision& turn) {
  return data_error("data/no-text",
                    fmt::format("{}: the turn '{}' of '{}' has no 'text'; expected the words that "
                                "are said in the turn; add the text or remove the turn",
                                cut.place(), turn.id, turn.speaker));
}

Error no_alignment(const Cut& cut, const Supervision& turn, const std::string& option) {
  return data_error(
      "data/no-alignment",
      fmt::format("{}: the turn '{}' has no word times ('alignment': {{'word': [...]}}); "
                  "data.{} needs them; add an alignment or set data.{}: turn",
                  cut.place(), turn.id, option, option.substr(0, option.find(':'))));
}

Error time_marks(const Cut& cut, const Supervision& turn) {
  return data_error(
      "data/time-marks",
      fmt::format("{}: the text of the turn '{}' has time marks, but not two for each word: '{}'; "
                  "expected '<|0|> hello <|4|> <|5|> there <|9|>', or no marks; fix the text, or "
                  "set data.user_text: turn",
                  cut.place(), turn.id, turn.text.value_or("")));
}

std::vector<std::string> speakers_of(const Cut& cut) {
  std::vector<std::string> speakers;
  for (const Supervision& turn : cut.supervisions) {
    if (!contains(speakers, turn.speaker)) speakers.push_back(turn.speaker);
  }
  return speakers;
}

std::vector<std::string> all_roles(const DuplexDataOptions& options) {
  std::vector<std::string> roles = options.input_roles;
  roles.insert(roles.end(), options.output_roles.begin(), options.output_roles.end());
  return roles;
}

void check_turns(const Cut& cut, const DuplexDataOptions& options, bool allow_no_turns,
                 Findings& findings) {
  const std::vector<std::string> roles = all_roles(options);
  bool has_turn = false;
  for (const Supervision& turn : cut.supervisions) {
    if (!contains(roles, turn.speaker)) continue;
    has_turn = true;
    // Lhotse's trimming may leave a start of some nanoseconds below 0.
    // An inner monologue takes the words that are inside a window.
    if (turn.start_s < -1e-3 && options.agent_text != "inner_monologue") {
      findings.add(cuts_errors::turn_time(cut.place(), turn, "it begins before the cut"));
    }
    if (!turn.text) findings.add(no_text(cut, turn));
    if (options.user_text == "stamped" && contains(options.input_roles, turn.speaker)) {
      const data::MarkedText text = data::read_time_marks(turn.text.value_or(""));
      if (text.has_marks() && !text.is_complete()) findings.add(time_marks(cut, turn));
    }
    if (!turn.words().empty() || !turn.text || clean_text(*turn.text).empty()) continue;
    if (options.user_text == "word_end" && contains(options.input_roles, turn.speaker)) {
      findings.add(no_alignment(cut, turn, "user_text: word_end"));
    }
    if (options.agent_text != "turn" && contains(options.output_roles, turn.speaker)) {
      findings.add(no_alignment(cut, turn, "agent_text: " + options.agent_text));
    }
  }
  if (!has_turn && !allow_no_turns) {
    findings.add(no_turns(cut, speakers_of(cut), roles));
  }
}

void check_files_of(const Cut& cut, const Recording& recording,
                    std::unordered_set<std::string>& known, Findings& findings) {
  for (const AudioSource& source : recording.sources) {
    const bool is_file = source.type == AudioSource::Type::kFile;
    if (!is_file || source.source.starts_with("pipe:") || known.count(source.source) > 0) continue;
    std::error_code ignored;
    if (std::filesystem::exists(source.source, ignored)) {
      known.insert(source.source);
    } else {
      findings.add(cuts_errors::missing_audio(cut.place(), source.source));
    }
  }
}

}  // namespace

void UserAudioAugmentation::visit(OptionVisitor& v) {
  const Bounds share = between(0, 1);
  v("use_noise_aug", use_noise_aug, "training: mix noise into the user's audio");
  v("noise_aug_path", noise_aug_path, "folder of noise, in files FOLDER/*/*.wav");
  v("noise_prob", noise_prob, "share of the batches with noise", share);
  v("noise_min_snr", noise_min_snr, "lowest signal-to-noise ratio in dB");
  v("noise_max_snr", noise_max_snr, "highest signal-to-noise ratio in dB");
  v("noise_prob_scale_user", noise_prob_scale_user,
    "share of the rows that get another volume before the noise", share);
  v("noise_prob_scale_user_min_snr", noise_prob_scale_user_min_snr,
    "this volume's highest gain, as dB of attenuation");
  v("noise_prob_scale_user_max_snr", noise_prob_scale_user_max_snr,
    "this volume's lowest gain, as dB of attenuation");
  v("snr_measure_dur", snr_measure_dur,
    "seconds at the beginning in which powers are measured; 0: all", at_least(0));
  v("noise_resample", noise_resample, "resample noise of another sample rate");
  v("noise_prob_low_pass", noise_prob_low_pass, "share of the rows whose noise ends at 1 kHz",
    share);
  v("force_use_noise_augmentation", force_use_noise_augmentation,
    "also change batches whose first cut has the task asr or s2s_duplex_overlap_as_s2s_duplex");
  v("use_room_ir_aug", use_room_ir_aug, "training: convolve the user's audio with room responses");
  v("roomir_aug_path", roomir_aug_path, "folder of impulse responses, in files FOLDER/*.wav");
  v("roomir_prob", roomir_prob, "share of the batches with a room", share);
  v("roomir_use_loudness_norm", roomir_use_loudness_norm,
    "restore the loudness (ITU-R BS.1770); false: the root mean square");
  v("use_mic_ir_aug", use_mic_ir_aug,
    "training: convolve the user's audio with microphone responses");
  v("micir_aug_path", micir_aug_path, "folder of impulse responses, in files FOLDER/*.wav");
  v("micir_prob", micir_prob, "share of the batches with a microphone", share);
  v("micir_use_loudness_norm", micir_use_loudness_norm,
    "restore the loudness (ITU-R BS.1770); false: the root mean square");
  v("early_interruption_prob", early_interruption_prob,
    "training: share of the rows in which the user interrupts the agent", share);
  v("early_interruption_overlap_tokens", early_interruption_overlap_tokens,
    "frames in which both speak before the agent stops", at_least(0));
}

void DuplexDataOptions::visit(OptionVisitor& v) {
  v("frame_length", frame_length, "frame length in seconds", between(1e-3, 10));
  v("source_sample_rate", source_sample_rate, "sample rate of the user's audio in Hz", at_least(1));
  v("target_sample_rate", target_sample_rate, "sample rate of the agent's audio in Hz",
    at_least(1));
  v("input_roles", input_roles, "names of the user speakers");
  v("output_roles", output_roles, "names of the agent speakers");
  v("user_text", user_text,
    "placement of user text: whole turns from their start, each word after its end, or each word "
    "at "
    "the time marks in the text, clipped to the turn (NeMo's speech-to-text data set)",
    one_of({"turn", "word_end", "stamped"}));
  v("user_text_delay", user_text_delay, "frames between the end of a user word and its tokens",
    between(0, 1000));
  v("agent_text", agent_text,
    "placement of agent text: the whole text of a turn from its start (NeMo), each word when it is "
    "spoken, between BOS and EOS, or each word without them",
    one_of({"turn", "word_start", "inner_monologue"}));
  v("agent_text_lead", agent_text_lead,
    "frames between the tokens of a word and its start (agent_text: word_start)", between(0, 1000));
  v("end_of_padding_id", end_of_padding_id,
    "id in place of the PAD before a word (agent_text: inner_monologue); null: none", at_least(0));
  v("long_text", long_text,
    "agent text that is longer than its turn: keep it after the end of the turn (NeMo), drop the "
    "rest, or stop with an error",
    one_of({"keep", "drop", "error"}));
  v("word_align_position", word_align_position,
    "position of a word between its time marks (user_text: stamped)", one_of({"left", "right"}));
  v("prepend_word_space", prepend_word_space,
    "encode words after the first with a space in front (user_text: stamped)");
  v("add_mcq_val_prompt", add_mcq_val_prompt,
    "give cuts without a system prompt NeMo's prompt for multiple choice questions");
  v("agent_audio", agent_audio,
    "load the agent's audio (custom.target_audio); false: for models without a voice, cuts need "
    "none");
  augmentation.visit(v);
  v("allow_commands", allow_commands,
    "also run shell commands that data files contain (pipe:, sources of type command); commands in "
    "the configuration itself always run");
  v("command_timeout_s", command_timeout_s, "timeout in seconds of a command that writes no output",
    at_least(0.001));
}

std::vector<std::string> DuplexDataOptions::other_keys() {
  return {"name", "synth", "train_ds", "validation_ds", "test_ds", "predict_ds"};
}

void check_duplex_cut(const Cut& cut, const DuplexDataOptions& options, bool allow_no_turns,
                      Findings& findings) {
  const bool has_audio = cut.recording || cut.padding || !cut.tracks.empty();
  if (!has_audio) findings.add(cuts_errors::no_recording(cut));
  if (options.agent_audio && cut.find_recording("target_audio") == nullptr) {
    findings.add(cuts_errors::no_target(cut));
  }
  check_turns(cut, options, allow_no_turns, findings);
}

void check_duplex_cuts(const std::vector<Cut>& cuts, const DuplexDataOptions& options,
                       bool allow_no_turns, bool check_files, Findings& findings) {
  constexpr size_t kMaxFindings = 20;
  std::unordered_set<std::string> known_files;
  for (const Cut& cut : cuts) {
    if (findings.errors().size() >= kMaxFindings) return;
    check_duplex_cut(cut, options, allow_no_turns, findings);
    if (!check_files) continue;
    if (cut.recording) check_files_of(cut, *cut.recording, known_files, findings);
    const Recording* target = cut.find_recording("target_audio");
    if (target != nullptr) check_files_of(cut, *target, known_files, findings);
  }
}

}  // namespace s2s
