// s2s-run transcribe: texts of recordings by a recognizer, with the times of words.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "audio/audio_errors.h"
#include "base/atomic_file.h"
#include "base/console.h"
#include "base/interrupt.h"
#include "base/number_text.h"
#include "base/progress_bar.h"
#include "base/text.h"
#include "base/warnings.h"
#include "config/load_config.h"
#include "files/source_state.h"
#include "run/run_builder.h"
#include "s2s/kinds/scorer.h"
#include "s2s_run/bench/command_ranks.h"
#include "s2s_run/new_output.h"
#include "s2s_run/run/generate.h"
#include "s2s_run/run/recognizer.h"
#include "s2s_run/run/recording_groups.h"
#include "s2s_run/run/transcript_formats.h"
#include "s2s_run/run/transcript_lines.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {
namespace {

namespace fs = std::filesystem;

constexpr const char* kStopping =
    "stopping after the recordings that are being recognized; press ^C again to stop at once\n";

struct TranscribeArguments {
  std::vector<std::string> inputs, settings;
  std::string scorer, path, format = "text", output, device = "auto";
  int64_t agent_channel = 0;
  int64_t batch_size = 0;  // 0: the scorer's own
  int64_t skip_bad = 0;
  bool force = false;
};

struct Recognizer {
  std::unique_ptr<Scorer> scorer;
  GroupLimits limits;
};

Recognizer make_recognizer(const TranscribeArguments& arguments, const Registries& registries,
                           Warnings& warnings) {
  Config node = Config::map();
  node["path"] = Config::scalar(arguments.path, true);
  if (arguments.batch_size > 0) {
    node["batch_size"] = Config::scalar(std::to_string(arguments.batch_size));
  }
  apply_overrides(node, arguments.settings);
  ScorerContext context;
  context.registries = &registries;
  context.path = "--scorer";
  context.warn = [&](const std::string& message) { warnings.add(message); };
  context.device = choose_device("--device", arguments.device, warnings);
  Recognizer recognizer = {create_recognizer(arguments.scorer, node, context), {}};
  constexpr int64_t kBatches = 4;
  const Config* const batch_size = node.find("batch_size");
  if (batch_size != nullptr && batch_size->is_scalar()) {
    const auto size = read_number<int64_t>(batch_size->text());
    recognizer.limits.num_clips = kBatches * std::clamp<int64_t>(size.value_or(1), 1, 1 << 20);
  }
  return recognizer;
}

/// Recognizes recordings while it shows the progress, heeds ^C and counts what is left out.
class Transcribing {
 public:
  /// done, left_out: of an earlier command.
  Transcribing(const TranscribeArguments& arguments, size_t total, int64_t done, int64_t left_out)
      : may_leave_out_(arguments.skip_bad),
        total_(static_cast<int64_t>(total)),
        done_(done),
        left_out_(left_out),
        console_(std::cerr, standard_error_is_terminal(), terminal_width()),
        interrupt_(kStopping) {
    if (console_.is_terminal()) {
      bar_.emplace(console_, ProgressSettings{"transcribe", "recordings", total_, done});
    }
  }

  /// Takes the recordings of a group. Returns whether to go on.
  using Write = std::function<bool(const std::vector<RecordingTranscript>& recordings)>;

  void run(std::span<const std::string> files, const Recognizer& recognizer, const Write& write) {
    bool goes_on = true;
    GroupEvents events;
    events.recognized = [&](const std::vector<RecordingTranscript>& recordings) {
      console_.set_status("");  // standard output may be the same terminal
      goes_on = write(recordings);
      done_ += static_cast<int64_t>(recordings.size());
      if (bar_) bar_->update(done_);
    };
    events.leaves_out = [&](const Error& error) {
      if (left_out_ >= may_leave_out_) return false;
      ++left_out_;
      say(fmt::format("warning: left out: {}", error.what()));
      return true;
    };
    events.stops = [&] {
      if (bar_) bar_->update(done_);
      return interrupt_.requested() || !goes_on;
    };
    recognize_in_groups(files, *recognizer.scorer, recognizer.limits, events);
    if (bar_) bar_->finish();
  }

  /// A line on standard error.
  void say(const std::string& text) { console_.print_line(text); }
  /// Whether ^C has ended it before the last recording.
  bool is_stopped() const { return interrupt_.requested() && done_ < total_; }
  bool is_complete() const { return done_ == total_; }
  int64_t num_done() const { return done_; }
  int64_t num_left_out() const { return left_out_; }
  /// "3 of 8 recordings".
  std::string of_all(int64_t count) const {
    return fmt::format("{} of {}", count, counted(total_, "recording"));
  }

 private:
  int64_t may_leave_out_, total_, done_, left_out_;
  Console console_;
  InterruptWatch interrupt_;
  std::optional<ProgressBar> bar_;
};

void require_times(const TranscribeArguments& arguments, const RecordingTranscript& recording) {
  for (const ChannelTranscript& channel : recording.channels) {
    if (!channel.transcript.words.empty() || channel.transcript.text.empty()) continue;
    throw Error(ExitCode::kUsage, "usage/arguments",
                "s2s-run transcribe --format " + arguments.format +
                    ": the recognizer gives no times of words\n"
                    "  next: take --format text, or another recognizer");
  }
}

/// A recording that does not exist is a slip of the command, unless some may be left out.
void require_recordings(const TranscribeArguments& arguments,
                        const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    if (arguments.skip_bad == 0 && !fs::exists(file)) throw audio_errors::missing_wave(file);
  }
}

void require_one_recording(const std::vector<std::string>& files) {
  if (files.size() == 1) return;
  throw Error(ExitCode::kUsage, "usage/arguments",
              "s2s-run transcribe --format srt: one recording has one file of subtitles\n"
              "  next: name one recording, or take --format json");
}

Error same_transcript(const std::string& one, const std::string& other, const std::string& path) {
  return {ExitCode::kUsage, "usage/arguments",
          fmt::format("s2s-run transcribe --format alignments: '{}' and '{}' would have the same "
                      "transcript '{}'\n  next: transcribe folder by folder, each with an --output "
                      "of its own",
                      one, other, path)};
}

/// The transcript of a recording: beside it, or in the folder of --output.
fs::path alignments_path(const TranscribeArguments& arguments, const std::string& file) {
  const fs::path beside = fs::path(file).replace_extension(".json");
  return arguments.output.empty() ? beside : arguments.output / beside.filename();
}

/// The recordings without a transcript, and how many have one. Of recordings whose transcripts are
/// the same file (a.flac and a.wav), the first counts.
std::pair<std::vector<std::string>, int64_t> without_alignments(
    const TranscribeArguments& arguments, const std::vector<std::string>& files) {
  std::pair<std::vector<std::string>, int64_t> found;
  std::map<std::string, std::string> recording_of;
  for (const std::string& file : files) {
    const fs::path transcript = alignments_path(arguments, file);
    const auto [known, is_new] = recording_of.emplace(transcript.lexically_normal(), file);
    if (!is_new && fs::absolute(known->second).lexically_normal().parent_path() !=
                       fs::absolute(file).lexically_normal().parent_path()) {
      throw same_transcript(known->second, file, transcript);
    }
    if (is_new && (arguments.force || !fs::exists(transcript))) {
      found.first.push_back(file);
    } else {
      ++found.second;
    }
  }
  return found;
}

/// Writes a transcript for each of `files`, beside it or into the folder of --output. Those that
/// are there stay, so that a command that was stopped goes on.
ExitCode write_alignments(const TranscribeArguments& arguments,
                          const std::vector<std::string>& files, const Recognizer& recognizer) {
  const auto [missing, kept] = without_alignments(arguments, files);
  if (!arguments.output.empty()) make_folders(arguments.output);
  Transcribing work(arguments, files.size(), kept, 0);
  int64_t written = 0;
  work.run(missing, recognizer, [&](const std::vector<RecordingTranscript>& recordings) {
    for (const RecordingTranscript& recording : recordings) {
      if (!recording.problem.empty()) continue;
      require_times(arguments, recording);
      write_file_atomically(alignments_path(arguments, recording.path),
                            transcript_alignments(recording, arguments.agent_channel));
      ++written;
    }
    return true;
  });
  std::cout << fmt::format("wrote {}", counted(written, "transcript"));
  if (kept > 0) std::cout << fmt::format(", kept {} (--force writes them again)", kept);
  if (work.num_left_out() > 0) std::cout << fmt::format(", left out {}", work.num_left_out());
  if (work.is_stopped()) {
    std::cout << fmt::format("; stopped: {} are done, and the same command goes on",
                             work.of_all(work.num_done()));
  }
  std::cout << '\n';
  return work.is_stopped() ? ExitCode::kStopped : ExitCode::kOk;
}

/// What lines depend on, but for the recordings.
uint64_t job_of(const TranscribeArguments& arguments, const std::vector<std::string>& files) {
  files::SourceState state;
  for (const std::string& text : {arguments.format, arguments.scorer, arguments.path}) {
    state.add(text);
  }
  for (const std::string& setting : arguments.settings) state.add(setting);
  std::error_code ignored;
  if (fs::is_regular_file(arguments.path, ignored)) state.add_file(arguments.path);
  state.add(uint64_t{files.size() > 1});  // whether lines of text have names
  return state.value();
}

/// Writes lines of text or JSON while recordings are recognized.
ExitCode write_lines(const TranscribeArguments& arguments, const std::vector<std::string>& files,
                     const Recognizer& recognizer, TranscriptLines& lines) {
  const int64_t before = lines.num_done_before();
  Transcribing work(arguments, files.size(), before, lines.num_left_out_before());
  const std::string& part = lines.partial_path();
  const auto say_done = [&](const std::string& before_count) {
    work.say(
        before_count + work.of_all(work.num_done()) + " are done" +
        (part.empty() ? "" : fmt::format("; '{}' has them, and the same command goes on", part)));
  };
  if (lines.has_begun_anew()) {
    work.say(fmt::format("begun anew: '{}' was of other recordings or options", part));
  }
  if (before > 0) work.say(work.of_all(before) + " were done before");
  try {
    work.run(std::span(files).subspan(static_cast<size_t>(before)), recognizer,
             [&](const std::vector<RecordingTranscript>& recordings) {
               for (const RecordingTranscript& recording : recordings) {
                 lines.add(arguments.format == "json"
                               ? transcript_json(recording)
                               : transcript_text(recording, files.size() > 1),
                           recording.problem);
               }
               lines.flush();
               return lines.is_open();
             });
  } catch (...) {
    if (!part.empty() && work.num_done() > 0) say_done("");
    throw;
  }
  if (work.is_complete()) lines.finish();
  if (work.num_left_out() > 0) work.say("left out " + work.of_all(work.num_left_out()));
  if (!work.is_stopped()) return ExitCode::kOk;
  say_done("stopped: ");
  return ExitCode::kStopped;
}

ExitCode write_subtitles(const TranscribeArguments& arguments,
                         const std::vector<std::string>& files, const Recognizer& recognizer) {
  Transcribing work(arguments, files.size(), 0, 0);
  work.run(files, recognizer, [&](const std::vector<RecordingTranscript>& recordings) {
    if (!recordings.front().problem.empty()) return true;
    require_times(arguments, recordings.front());
    const std::string text = transcript_srt(recordings.front());
    if (arguments.output.empty()) {
      std::cout << text;
    } else {
      write_file_atomically(arguments.output, text);
    }
    return true;
  });
  return work.is_stopped() ? ExitCode::kStopped : ExitCode::kOk;
}

int transcribe(const TranscribeArguments& arguments, const Invocation& invocation) {
  const bool is_beside = arguments.format == "alignments", is_srt = arguments.format == "srt";
  if (!arguments.output.empty() && !is_beside) require_new({arguments.output}, arguments.force);
  const std::vector<std::string> files = recording_files(arguments.inputs);
  require_recordings(arguments, files);
  if (is_srt) require_one_recording(files);
  std::optional<TranscriptLines> lines;  // opened before the recognizer, which may take minutes
  if (!is_beside && !is_srt) lines.emplace(arguments.output, job_of(arguments, files), files);
  Warnings warnings;
  warnings.send_to([](const std::string& message) { std::cerr << "warning: " << message << '\n'; });
  const CommandPlugins plugins(invocation);
  const Recognizer recognizer = make_recognizer(arguments, plugins.registries, warnings);
  if (lines) return static_cast<int>(write_lines(arguments, files, recognizer, *lines));
  return static_cast<int>(is_srt ? write_subtitles(arguments, files, recognizer)
                                 : write_alignments(arguments, files, recognizer));
}

}  // namespace

void setup_transcribe(const Command& program) {
  const Command command = program.command(
      "transcribe", "write texts of recordings by a recognizer, with the times of words");
  TranscribeArguments& arguments = command.runs(transcribe);
  command
      .option("audio", arguments.inputs,
              "audio files, or folders of them; each channel is transcribed by itself")
      .required();
  command
      .option("--path", arguments.path,
              "the recognizer: a .nemo archive, or a folder of Hugging Face")
      .required();
  command.option("--scorer", arguments.scorer,
                 "how its text is found: transducer, ctc, whisper, or another scorer with a path "
                 "(default: as the model asks)");
  command
      .option("--format", arguments.format,
              "text; json: one line a channel, with words; srt: subtitles of one recording; "
              "alignments: a transcript NAME.json beside each recording, for data convert")
      .one_of({"text", "json", "srt", "alignments"})
      .shows_default();
  command.option("-o,--output", arguments.output,
                 "file to write (default: standard output), FILE.part until it is complete; "
                 "alignments: folder of the transcripts");
  command
      .option("--agent-channel", arguments.agent_channel,
              "alignments: channel of the agent; others are the user's")
      .shows_default();
  command
      .option("--skip-bad", arguments.skip_bad,
              "leave out up to this many recordings that cannot be read")
      .whole_number()
      .shows_default();
  command.option("--batch-size", arguments.batch_size, "clips at once (default: the scorer's)")
      .positive();
  command
      .option("--set", arguments.settings,
              "an option of the scorer, such as decoding.strategy=malsd_batch; may be repeated")
      .takes_one();
  command.option("--device", arguments.device, "cpu, gpu, or auto: the GPU if there is one")
      .one_of({"auto", "cpu", "gpu"})
      .shows_default();
  command.force(arguments.force);
}

}  // namespace s2s::run
