// generate --stream --input -: answers audio from a pipe while it arrives.

#include <ATen/ATen.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "audio/audio_errors.h"
#include "audio/pcm_stream.h"
#include "audio/stream_resampler.h"
#include "audio/wave_file.h"
#include "base/atomic_file.h"
#include "base/interrupt.h"
#include "base/io_errors.h"
#include "base/log.h"
#include "base/text.h"
#include "s2s/foreign_text.h"
#include "s2s_run/new_output.h"
#include "s2s_run/run/generate.h"
#include "s2s_run/run/pipe_output.h"

namespace s2s::run {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using nlohmann::ordered_json;

constexpr const char* kPipeName = "standard input";
constexpr char kEnding[] =
    "stopping: the audio ends here, and its answer is completed; press ^C again to stop "
    "immediately\n";

/// Waits for bytes of standard input.
class PipeInput {
 public:
  explicit PipeInput(const InterruptWatch& interrupt) : interrupt_(interrupt) {}

  /// The next bytes; "" at the end, after ^C, and once the reader of standard output has gone away.
  /// Errors: [io/read].
  std::string next() {
    std::array<char, size_t{1} << 14> bytes;
    while (!interrupt_.requested()) {
      // The time limit is for a signal that comes just before the call.
      constexpr int kOften_ms = 200;
      pollfd files[] = {{STDIN_FILENO, POLLIN, 0}, {STDOUT_FILENO, 0, 0}};
      const int num_ready = ::poll(files, 2, kOften_ms);
      has_reader_ = num_ready <= 0 || (files[1].revents & (POLLERR | POLLHUP)) == 0;
      if (!has_reader_) return "";
      if (num_ready <= 0 || files[0].revents == 0) continue;
      const ssize_t count = ::read(STDIN_FILENO, bytes.data(), bytes.size());
      if (count >= 0) return {bytes.data(), static_cast<size_t>(count)};
      if (errno != EINTR && errno != EAGAIN) throw read_error(kPipeName, errno);
    }
    return "";
  }

  /// False once the reader of standard output has gone away.
  bool has_reader() const { return has_reader_; }

 private:
  const InterruptWatch& interrupt_;
  bool has_reader_ = true;
};

/// A session, its audio at the model's rate, and what it has answered.
class PipedSession {
 public:
  PipedSession(const GenerateArguments& arguments, AnswersSpeech& model, at::Device device)
      : arguments_(arguments),
        model_(model),
        device_(device),
        text_(model.tokenizer()),
        pending_S_(at::empty({0}, at::kFloat)),
        session_(model.open_session(arguments.sampling)) {}

  /// Begins the output. `is_wav`: the input is WAV.
  void begin(bool is_wav) {
    const int64_t rate_hz = model_.answer_sample_rate_hz();
    if (arguments_.json) {
      output_.write_line({{"input", is_wav ? "wav" : "raw"},
                          {"input_sample_rate_hz", model_.source_sample_rate_hz()},
                          {"sample_rate_hz", rate_hz},
                          {"frame_length_s", model_.frame_length_s()}});
    } else if (is_wav && rate_hz > 0) {
      output_.write(wav_header(rate_hz, -1));
      has_header_ = output_.is_open();
    }
  }

  /// Samples [S] at the model's rate; feeds whole frames.
  void feed(const at::Tensor& samples_S) {
    pending_S_ = at::cat({pending_S_, samples_S});
    const int64_t hop = samples_per_frame(model_);
    int64_t at = 0;
    for (; at + hop <= pending_S_.size(0) && output_.is_open(); at += hop) {
      push(pending_S_.narrow(0, at, hop));
    }
    pending_S_ = pending_S_.slice(0, at).clone();
  }

  /// Feeds what is less than a frame, and ends the answer.
  void finish() {
    if (pending_S_.size(0) > 0 && output_.is_open()) push(pending_S_);
    const auto begin = Clock::now();
    DuplexSession::Output rest = session_->finish();
    wall_s_ += std::chrono::duration<double>(Clock::now() - begin).count();
    give(std::move(rest), /*is_last=*/true);
    if (!output_.is_open()) return;
    if (arguments_.json) {
      output_.write_line({{"end", true},
                          {"text", text_.text()},
                          {"seconds", heard_s()},
                          {"real_time_factor", wall_s_ / heard_s()}});
    } else if (model_.answer_sample_rate_hz() == 0) {
      output_.write("\n");
    }
    complete_header();
  }

  /// The whole answer. The audio is there if --output is given.
  Answer answer() const {
    Answer answer;
    answer.text_tokens = text_.tokens();
    answer.codes_TK = codes_.empty() ? at::empty({0, 0}, at::kLong) : at::cat(codes_);
    if (!audio_.empty()) answer.audio_S = at::cat(audio_);
    answer.wall_s = wall_s_;
    return answer;
  }
  bool has_heard() const { return num_heard_ + pending_S_.size(0) > 0; }
  double heard_s() const {
    return static_cast<double>(num_heard_) / static_cast<double>(model_.source_sample_rate_hz());
  }
  const std::string& text() const { return text_.text(); }
  double wall_s() const { return wall_s_; }
  bool is_open() const { return output_.is_open(); }

 private:
  void push(const at::Tensor& frame_S) {
    const auto begin = Clock::now();
    DuplexSession::Output piece = session_->push(frame_S.to(device_));
    piece.audio_S = piece.audio_S.cpu();  // waits for the device
    wall_s_ += std::chrono::duration<double>(Clock::now() - begin).count();
    num_heard_ += frame_S.size(0);
    give(std::move(piece), /*is_last=*/false);
  }

  void give(DuplexSession::Output piece, bool is_last) {
    std::string words = text_.add(piece.text_tokens);
    if (is_last) words += text_.finish();
    const std::string pcm = pcm_of(piece.audio_S);
    num_frames_ += static_cast<int64_t>(piece.text_tokens.size());
    if (arguments_.json) {
      if (piece.text_tokens.empty() && pcm.empty() && words.empty()) return;
      output_.write_line({{"time_s", static_cast<double>(num_frames_) * model_.frame_length_s()},
                          {"text", words},
                          {"text_tokens", piece.text_tokens},
                          {"audio_tokens", code_lists(piece.codes_TK.cpu())},
                          {"audio", to_base64(pcm)}});
    } else {
      output_.write(model_.answer_sample_rate_hz() == 0 ? printable(words) : pcm);
    }
    if (arguments_.output.empty()) return;
    audio_.push_back(piece.audio_S.cpu());
    if (piece.codes_TK.numel() > 0) codes_.push_back(piece.codes_TK.cpu());
  }

  /// Writes the sizes into the header of an output that is a file.
  void complete_header() {
    struct stat status = {};
    const bool is_file = ::fstat(STDOUT_FILENO, &status) == 0 && S_ISREG(status.st_mode);
    // A file opened for appending keeps the sizes of a stream, which readers understand, too.
    const bool appends = (::fcntl(STDOUT_FILENO, F_GETFL) & O_APPEND) != 0;
    if (!has_header_ || !is_file || appends) return;
    const auto header_bytes = static_cast<int64_t>(wav_header(1, 0).size());
    const std::string header =
        wav_header(model_.answer_sample_rate_hz(), output_.num_bytes() - header_bytes);
    const off_t begin = ::lseek(STDOUT_FILENO, 0, SEEK_CUR) - output_.num_bytes();
    if (begin < 0 || ::pwrite(STDOUT_FILENO, header.data(), header.size(), begin) < 0) {
      throw write_error("standard output", "cannot write the sizes of the WAV file", errno);
    }
  }

  const GenerateArguments& arguments_;
  AnswersSpeech& model_;
  at::Device device_;
  GrowingText text_;
  at::Tensor pending_S_;
  std::unique_ptr<DuplexSession> session_;
  PipeOutput output_;
  std::vector<at::Tensor> audio_, codes_;
  int64_t num_heard_ = 0, num_frames_ = 0;
  double wall_s_ = 0;
  bool has_header_ = false;
};

/// Feeds standard input to the session until it ends.
void feed_all(const GenerateArguments& arguments, AnswersSpeech& model, PipedSession& session,
              PipeInput& input, Log& log) {
  const int64_t rate_hz = model.source_sample_rate_hz();
  PcmStream stream(arguments.channel,
                   arguments.input_rate_hz > 0 ? arguments.input_rate_hz : rate_hz);
  std::optional<StreamResampler> resampler;
  const auto feed = [&](const at::Tensor& samples_S) {
    if (!resampler && samples_S.numel() == 0) return;  // the format may not be known yet
    if (!resampler) {
      if (stream.is_wav() && arguments.input_rate_hz > 0) {
        log.warning(fmt::format("--input-rate has no effect: the WAV header says {} Hz",
                                stream.sample_rate_hz()));
      }
      resampler.emplace(stream.sample_rate_hz(), rate_hz);
      session.begin(stream.is_wav());
    }
    session.feed(resampler->add(samples_S));
  };
  while (session.is_open() && !stream.is_complete()) {
    const std::string bytes = input.next();
    if (bytes.empty()) break;
    feed(stream.add(bytes));
  }
  feed(stream.finish());
  if (resampler) session.feed(resampler->finish());
  if (const std::string warning = stream.warning(); !warning.empty()) log.warning(warning);
}

/// Writes the files of --output, as for a recording.
void write_files(const GenerateArguments& arguments, AnswersSpeech& model,
                 const PipedSession& session) {
  if (arguments.output.empty()) return;
  const Answer answer = session.answer();
  const bool has_voice = model.answer_sample_rate_hz() > 0;
  const std::string wav = has_voice ? answer_wav_name(0, kPipeName) : "";
  if (has_voice) {
    write_wave((fs::path(arguments.output) / wav).string(),
               answer.audio_S.defined() ? answer.audio_S : at::empty({0}, at::kFloat),
               model.answer_sample_rate_hz());
  }
  GenerateArguments silent = arguments;
  silent.json = false;  // the pieces have been printed
  silent.force = true;  // checked before the first sample
  AnswerLines(silent).add(answer_line("-", wav, answer, model, session.heard_s()));
}

}  // namespace

bool is_piped(const GenerateArguments& arguments) { return contains(arguments.inputs, "-"); }

void check_pipe(const GenerateArguments& arguments) {
  if (!is_piped(arguments)) {
    if (arguments.input_rate_hz > 0) {
      throw_generate_usage("--input-rate is for audio from standard input (--stream --input -)");
    }
    return;
  }
  if (arguments.inputs.size() > 1) {
    throw_generate_usage("--input - is standard input, and takes no other recordings");
  }
  if (!arguments.stream) {
    throw_generate_usage("--input - reads standard input frame by frame: add --stream");
  }
  if (::isatty(STDIN_FILENO) == 1) {
    throw_generate_usage(
        "standard input is a terminal, expected audio: arecord -f S16_LE -r 16000 | s2s-run "
        "generate ...");
  }
  if (!arguments.json && ::isatty(STDOUT_FILENO) == 1) {
    throw_generate_usage(
        "standard output is a terminal, expected a reader of audio or a file: s2s-run generate "
        "... | aplay, or add --json");
  }
}

ExitCode answer_pipe(const GenerateArguments& arguments, const std::string& type,
                     AnswersSpeech& speech, at::Device device, Log& log) {
  if (speech.open_sessions(1) == nullptr) throw_no_capability(type, kFrameByFrame);
  if (!arguments.output.empty()) {
    const fs::path folder = arguments.output;
    require_new(
        {(folder / "answers.jsonl").string(), (folder / answer_wav_name(0, kPipeName)).string()},
        arguments.force);
    make_folders(arguments.output);
  }
  const InterruptWatch interrupt(kEnding);
  PipeInput input(interrupt);
  PipedSession session(arguments, speech, device);
  feed_all(arguments, speech, session, input, log);
  if (!session.has_heard()) {
    if (interrupt.requested()) return ExitCode::kStopped;
    if (!input.has_reader()) return ExitCode::kOk;
    throw audio_errors::empty_pipe();
  }
  session.finish();
  write_files(arguments, speech, session);
  log.info(fmt::format("text: \"{}\"", printable(session.text())));
  log.info(fmt::format("{:.2f} s of audio in {:.2f} s, real-time factor {:.3f}", session.heard_s(),
                       session.wall_s(), session.wall_s() / session.heard_s()));
  if (!session.is_open()) log.info("the reader of standard output has ended, and so did the audio");
  return interrupt.requested() ? ExitCode::kStopped : ExitCode::kOk;
}

}  // namespace s2s::run
