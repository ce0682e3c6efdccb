// s2s-run transcribe: texts of recordings by a recognizer, with the times of words.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/console.h"
#include "base/interrupt.h"
#include "base/progress_bar.h"
#include "base/warnings.h"
#include "config/load_config.h"
#include "run/run_builder.h"
#include "s2s/foreign_text.h"
#include "s2s/kinds/scorer.h"
#include "s2s_run/bench/command_ranks.h"
#include "s2s_run/new_output.h"
#include "s2s_run/run/generate.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int64_t kRate_hz = 16000;  // recognizers resample it, if theirs is another
constexpr double kPause_s = 0.6;     // longer ones begin a new subtitle
constexpr size_t kSubtitleLetters = 84;

struct TranscribeArguments {
  std::vector<std::string> inputs, settings;
  std::string scorer = "transducer", path, format = "text", output, device = "auto";
  int64_t agent_channel = 0;
  int64_t batch_size = 0;  // 0: the scorer's own
  bool force = false;
};

/// One channel of a recording.
struct Channel {
  std::string path;
  int64_t channel = 0, num_channels = 1;
  double duration_s = 0;
  Transcript transcript;
};

std::unique_ptr<Scorer> make_recognizer(const TranscribeArguments& arguments,
                                        const Registries& registries, Warnings& warnings) {
  Config node = Config::map();
  node["name"] = Config::scalar(arguments.scorer, true);
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
  return registries.create<Scorer>(node, context);
}

std::vector<Channel> transcribed(const std::vector<std::string>& files, Scorer& recognizer) {
  std::vector<Channel> channels;
  std::vector<AudioClip> clips;
  const auto add = [&](const HeardRecording& read, int64_t channel) {
    channels.push_back({read.path,
                        channel,
                        read.wave.num_channels,
                        static_cast<double>(read.wave.samples_S.numel()) / kRate_hz,
                        {}});
    clips.push_back({read.wave.samples_S, kRate_hz});
  };
  for (const std::string& file : files) {
    add(read_recordings({file}, 0, kRate_hz)[0], 0);
    for (int64_t channel = 1; channel < channels.back().num_channels; ++channel) {
      add(read_recordings({file}, channel, kRate_hz)[0], channel);
    }
  }
  const std::vector<Transcript> found = recognizer.transcripts(clips);
  for (size_t i = 0; i < channels.size(); ++i) channels[i].transcript = found[i];
  return channels;
}

std::string name_of(const Channel& channel) {
  const std::string name = printable_name(channel.path);
  return channel.num_channels == 1 ? name : fmt::format("{}, channel {}", name, channel.channel);
}

std::string as_text(const std::vector<Channel>& channels) {
  std::string out;
  for (const Channel& channel : channels) {
    if (channels.size() > 1) out += name_of(channel) + ": ";
    out += channel.transcript.text + "\n";
  }
  return out;
}

/// One line for each channel, as a NeMo manifest has them, with the words, and with confidences
/// where the recognizer has them.
std::string as_json(const std::vector<Channel>& channels) {
  std::string out;
  for (const Channel& channel : channels) {
    Json line = {{"audio_filepath", channel.path},
                 {"duration", channel.duration_s},
                 {"pred_text", channel.transcript.text}};
    if (channel.num_channels > 1) line["channel"] = channel.channel;
    if (channel.transcript.confidence) line["confidence"] = *channel.transcript.confidence;
    line["words"] = Json::array();
    for (const RecognizedWord& word : channel.transcript.words) {
      line["words"].push_back({{"word", word.text}, {"start", word.start_s}, {"end", word.end_s}});
      if (word.confidence) line["words"].back()["confidence"] = *word.confidence;
    }
    out += line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }
  return out;
}

std::string srt_time(double seconds) {
  const auto ms = static_cast<int64_t>(std::llround(1000 * seconds));
  return fmt::format("{:02}:{:02}:{:02},{:03}", ms / 3600000, ms / 60000 % 60, ms / 1000 % 60,
                     ms % 1000);
}

size_t letters_of(const std::string& text) {
  const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80; };
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), begins));
}

/// Subtitles of one or two lines' length, which pauses part.
std::vector<RecognizedWord> subtitles(const Transcript& transcript) {
  std::vector<RecognizedWord> parts;
  for (const RecognizedWord& word : transcript.words) {
    const bool begins = parts.empty() || word.start_s - parts.back().end_s > kPause_s ||
                        letters_of(parts.back().text) + letters_of(word.text) >= kSubtitleLetters;
    if (begins) {
      parts.push_back(word);
    } else {
      parts.back().text += " " + word.text;
      parts.back().end_s = word.end_s;
    }
  }
  return parts;
}

/// SubRip, in the order of time. Channels of a recording have their number in front.
std::string as_srt(const std::vector<Channel>& channels) {
  std::vector<RecognizedWord> all;
  for (const Channel& channel : channels) {
    for (RecognizedWord part : subtitles(channel.transcript)) {
      if (channel.num_channels > 1) part.text = fmt::format("[{}] {}", channel.channel, part.text);
      all.push_back(part);
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const RecognizedWord& a, const RecognizedWord& b) {
    return a.start_s < b.start_s;
  });
  std::string out;
  for (size_t i = 0; i < all.size(); ++i) {
    out += fmt::format("{}\n{} --> {}\n{}\n\n", i + 1, srt_time(all[i].start_s),
                       srt_time(all[i].end_s), all[i].text);
  }
  return out;
}

/// The transcript of a recording as Moshi's data sets have it: words of all channels in the order
/// of time, with the label of their speaker.
std::string as_alignments(const std::vector<Channel>& channels, int64_t agent_channel) {
  std::vector<std::pair<const RecognizedWord*, const char*>> words;
  for (const Channel& channel : channels) {
    const bool is_agent = channel.channel == agent_channel;
    for (const RecognizedWord& word : channel.transcript.words) {
      words.emplace_back(&word, is_agent ? "SPEAKER_MAIN" : "SPEAKER_USER");
    }
  }
  std::stable_sort(words.begin(), words.end(), [](const auto& a, const auto& b) {
    return a.first->start_s < b.first->start_s;
  });
  Json alignments = Json::array();
  for (const auto& [word, speaker] : words) {
    alignments.push_back({word->text, {word->start_s, word->end_s}, speaker});
  }
  const Json file = {{"alignments", std::move(alignments)}};
  return file.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

void require_times(const TranscribeArguments& arguments, const std::vector<Channel>& channels) {
  for (const Channel& channel : channels) {
    if (!channel.transcript.words.empty() || channel.transcript.text.empty()) continue;
    throw Error(ExitCode::kUsage, "usage/arguments",
                "s2s-run transcribe --format " + arguments.format + ": the recognizer '" +
                    arguments.scorer +
                    "' gives no times of words\n  next: take --format text, or another --scorer");
  }
}

void require_one_recording(const std::vector<std::string>& files) {
  if (files.size() == 1) return;
  throw Error(ExitCode::kUsage, "usage/arguments",
              "s2s-run transcribe --format srt: one recording has one file of subtitles\n"
              "  next: name one recording, or take --format json");
}

/// Writes a transcript for each of `files`, beside it or into the folder of --output. Those that
/// are there stay, so that a command that was stopped goes on.
ExitCode write_alignments(const TranscribeArguments& arguments,
                          const std::vector<std::string>& files, Scorer& recognizer) {
  if (!arguments.output.empty()) fs::create_directories(arguments.output);
  Console console(std::cerr, standard_error_is_terminal(), terminal_width());
  ProgressBar bar(console, {"transcribe", "recordings", static_cast<int64_t>(files.size())});
  const InterruptWatch interrupt("stopping after this recording; press ^C again to stop at once\n");
  int64_t written = 0, kept = 0;
  for (const std::string& file : files) {
    if (interrupt.requested()) break;
    fs::path transcript = fs::path(file).replace_extension(".json");
    if (!arguments.output.empty()) transcript = arguments.output / transcript.filename();
    if (!arguments.force && fs::exists(transcript)) {
      bar.update(written + ++kept);
      continue;
    }
    const std::vector<Channel> channels = transcribed({file}, recognizer);
    require_times(arguments, channels);
    write_file_atomically(transcript, as_alignments(channels, arguments.agent_channel));
    bar.update(++written + kept);
  }
  bar.finish();
  std::cout << fmt::format("wrote {} transcript{}", written, written == 1 ? "" : "s");
  if (kept > 0) std::cout << fmt::format(", kept {} (--force writes them again)", kept);
  const bool is_stopped = interrupt.requested();
  std::cout << (is_stopped ? "; stopped: the same command goes on\n" : "\n");
  return is_stopped ? ExitCode::kStopped : ExitCode::kOk;
}

int transcribe(const TranscribeArguments& arguments, const Invocation& invocation) {
  const bool is_beside = arguments.format == "alignments";
  if (!arguments.output.empty() && !is_beside) require_new({arguments.output}, arguments.force);
  const std::vector<std::string> files = recording_files(arguments.inputs);
  if (arguments.format == "srt") require_one_recording(files);
  Warnings warnings;
  warnings.send_to([](const std::string& message) { std::cerr << "warning: " << message << '\n'; });
  const CommandPlugins plugins(invocation);
  const std::unique_ptr<Scorer> recognizer =
      make_recognizer(arguments, plugins.registries, warnings);
  if (is_beside) {
    return static_cast<int>(write_alignments(arguments, files, *recognizer));
  }
  const std::vector<Channel> channels = transcribed(files, *recognizer);
  if (arguments.format == "srt") require_times(arguments, channels);
  const std::string text = arguments.format == "json"  ? as_json(channels)
                           : arguments.format == "srt" ? as_srt(channels)
                                                       : as_text(channels);
  if (arguments.output.empty()) {
    std::cout << text;
  } else {
    write_file_atomically(arguments.output, text);
  }
  return 0;
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
  command
      .option("--scorer", arguments.scorer,
              "how its text is found: ctc, transducer, or another scorer with a path")
      .shows_default();
  command
      .option("--format", arguments.format,
              "text; json: one line a channel, with words; srt: subtitles of one recording; "
              "alignments: a transcript NAME.json beside each recording, for data convert")
      .one_of({"text", "json", "srt", "alignments"})
      .shows_default();
  command.option("-o,--output", arguments.output,
                 "file to write (default: standard output); alignments: folder of the transcripts");
  command
      .option("--agent-channel", arguments.agent_channel,
              "alignments: channel of the agent; others are the user's")
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
