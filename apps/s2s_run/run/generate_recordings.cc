// generate --input: answers to recordings, whole or frame by frame.

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "audio/audio_errors.h"
#include "audio/wave_file.h"
#include "base/atomic_file.h"
#include "base/io_errors.h"
#include "base/log.h"
#include "convert/source_files.h"
#include "s2s/foreign_text.h"
#include "s2s_run/new_output.h"
#include "s2s_run/run/generate.h"

namespace s2s::run {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

std::vector<std::string> audio_files(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (entry.is_regular_file() && convert::is_audio_name(path)) files.push_back(path);
  }
  if (files.empty()) throw audio_errors::no_waves(folder);
  std::sort(files.begin(), files.end());
  return files;
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void append(Answer& answer, std::vector<at::Tensor>& audio, std::vector<at::Tensor>& codes,
            DuplexSession::Output piece) {
  audio.push_back(piece.audio_S.cpu());
  if (piece.codes_TK.numel() > 0) codes.push_back(piece.codes_TK.cpu());
  answer.text_tokens.insert(answer.text_tokens.end(), piece.text_tokens.begin(),
                            piece.text_tokens.end());
}

/// Feeds the audio frame by frame, like a microphone.
Answer stream(AnswersSpeech& model, const SamplingOptions& sampling, const at::Tensor& audio_S) {
  Answer answer;
  std::vector<at::Tensor> audio, codes;
  const int64_t hop = samples_per_frame(model);
  const auto begin = Clock::now();
  const std::unique_ptr<DuplexSession> session = model.open_session(sampling);
  for (int64_t at = 0; at < audio_S.size(0); at += hop) {
    const auto frame = Clock::now();
    append(answer, audio, codes,
           session->push(audio_S.narrow(0, at, std::min(hop, audio_S.size(0) - at))));
    answer.frame_ms.push_back(1000 * seconds_since(frame));
  }
  append(answer, audio, codes, session->finish());
  answer.wall_s = seconds_since(begin);
  answer.audio_S = at::cat(audio);
  answer.codes_TK = codes.empty() ? at::empty({0, 0}, at::kLong) : at::cat(codes);
  return answer;
}

Answer whole(AnswersSpeech& model, const at::Tensor& audio_S) {
  Answer answer;
  const auto begin = Clock::now();
  const at::Tensor length = at::full({1}, audio_S.size(0), audio_S.options().dtype(at::kLong));
  const Generation out = model.generate(audio_S.unsqueeze(0), length, /*decode_audio=*/true);
  answer.wall_s = seconds_since(begin);
  const int64_t frames = out.token_lens_B.item<int64_t>();
  const at::Tensor tokens = out.tokens_text_BT[0].narrow(0, 0, frames).cpu().contiguous();
  answer.text_tokens.assign(tokens.data_ptr<int64_t>(), tokens.data_ptr<int64_t>() + frames);
  if (!out.audio_BS.defined()) {  // the model has no voice
    answer.codes_TK = at::empty({0, 0}, at::kLong);
    return answer;
  }
  answer.codes_TK = out.tokens_audio_BTK[0].narrow(0, 0, frames).cpu();
  answer.audio_S = out.audio_BS[0].narrow(0, 0, out.audio_lens_B.item<int64_t>()).cpu();
  return answer;
}

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
}

void print_answer(const HeardRecording& heard, const std::string& text, const std::string& wav) {
  fmt::print("{}\n", printable_name(heard.path));
  if (text.empty()) {
    fmt::print("  text:   none (the model wrote no words)\n");
  } else {
    fmt::print("  text:   \"{}\"\n", printable_name(text));
  }
  if (!wav.empty()) fmt::print("  speech: {}\n", printable_name(wav));
}

void print_costs(const Answer& answer, double audio_s) {
  fmt::print(
      "  time:   {:.2f} s of audio in {:.2f} s, real-time factor {:.3f} ({:.1f} x real time)\n",
      audio_s, answer.wall_s, answer.wall_s / audio_s, audio_s / answer.wall_s);
  if (answer.frame_ms.empty()) return;
  fmt::print("          per 80 ms frame: median {:.2f} ms, 90 % {:.2f} ms, largest {:.2f} ms\n",
             percentile(answer.frame_ms, 0.5), percentile(answer.frame_ms, 0.9),
             percentile(answer.frame_ms, 1));
}

/// Logs which channel is used. A multi-channel recording is usually a conversation with one speaker
/// per channel.
void note_channels(const std::vector<HeardRecording>& inputs, int64_t channel, Log& log) {
  for (const HeardRecording& input : inputs) {
    if (input.wave.num_channels == 1) continue;
    log.info(fmt::format("{} has {} channels; channel {} is used (--channel selects another)",
                         input.path, input.wave.num_channels, channel));
  }
}

void require_new_answers(const GenerateArguments& arguments,
                         const std::vector<HeardRecording>& inputs) {
  std::vector<std::string> files = {(fs::path(arguments.output) / "answers.jsonl").string()};
  for (size_t i = 0; i < inputs.size(); ++i) {
    files.push_back((fs::path(arguments.output) / answer_wav_name(i, inputs[i].path)).string());
  }
  require_new(files, arguments.force);
}

/// Answers the recordings one by one. Each answer is written as soon as it is complete.
void answer_all(const GenerateArguments& arguments, AnswersSpeech& model, at::Device device,
                const std::vector<HeardRecording>& inputs) {
  make_folders(arguments.output);
  const fs::path answers = fs::path(arguments.output) / "answers.jsonl";
  std::ofstream lines(answers);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const at::Tensor heard_S = inputs[i].wave.samples_S.to(device);
    const double audio_s =
        static_cast<double>(heard_S.size(0)) / static_cast<double>(model.source_sample_rate_hz());
    const Answer answer =
        arguments.stream ? stream(model, arguments.sampling, heard_S) : whole(model, heard_S);
    const bool has_voice = model.answer_sample_rate_hz() > 0;
    const std::string wav = has_voice ? answer_wav_name(i, inputs[i].path) : "";
    const std::string file = has_voice ? (fs::path(arguments.output) / wav).string() : "";
    if (has_voice) write_wave(file, answer.audio_S, model.answer_sample_rate_hz());
    const auto line = answer_line(inputs[i].path, wav, answer, model, audio_s);
    // A model may write a part of a character.
    lines << line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
          << std::endl;
    if (!lines) throw write_error(answers.string(), "cannot write", errno);
    if (arguments.json) {
      print_json_line(line);
      continue;
    }
    print_answer(inputs[i], line.at("text").get<std::string>(), file);
    print_costs(answer, audio_s);
  }
}

}  // namespace

int64_t samples_per_frame(const AnswersSpeech& model) {
  return static_cast<int64_t>(
      model.frame_length_s() * static_cast<double>(model.source_sample_rate_hz()) + 0.5);
}

std::vector<std::vector<int64_t>> code_lists(const at::Tensor& codes_TK) {
  const at::Tensor codes = codes_TK.contiguous();
  std::vector<std::vector<int64_t>> lists;
  for (int64_t t = 0; t < codes.size(0); ++t) {
    const int64_t* row = codes.data_ptr<int64_t>() + t * codes.size(1);
    lists.emplace_back(row, row + codes.size(1));
  }
  return lists;
}

std::string channel_text(std::vector<int64_t> ids, const Tokenizer& tokenizer) {
  std::erase(ids, tokenizer.special_ids().pad);
  return tokenizer.decode(ids);
}

nlohmann::ordered_json answer_line(const std::string& input, const std::string& wav,
                                   const Answer& answer, const AnswersSpeech& model,
                                   double audio_s) {
  return {{"input", input},
          {"output", wav.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(wav)},
          {"text", channel_text(answer.text_tokens, model.tokenizer())},
          {"text_tokens", answer.text_tokens},
          {"audio_tokens", code_lists(answer.codes_TK)},
          {"seconds", audio_s},
          {"real_time_factor", answer.wall_s / audio_s}};
}

std::string answer_wav_name(size_t index, const std::string& input) {
  std::string stem = printable_name(fs::path(input).stem().string());
  std::replace(stem.begin(), stem.end(), '\\', '_');
  return fmt::format("{:03}_{}.wav", index, stem);
}

void answer_recordings(const GenerateArguments& arguments, const std::string& type,
                       AnswersSpeech& speech, at::Device device, Log& log) {
  if (arguments.inputs.empty()) throw_no_input(type, "--input WAV");
  if (arguments.output.empty()) throw_no_input(type, "--output FOLDER");
  if (arguments.stream && speech.open_sessions(1) == nullptr) {
    throw_no_capability(type, kFrameByFrame);
  }
  speech.choose_tokens_by(arguments.sampling);
  // Reads all inputs before the first answer, so that a bad input is reported at once.
  const std::vector<HeardRecording> inputs =
      read_recordings(arguments.inputs, arguments.channel, speech.source_sample_rate_hz());
  require_new_answers(arguments, inputs);
  note_channels(inputs, arguments.channel, log);
  answer_all(arguments, speech, device, inputs);
}

std::vector<std::string> recording_files(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    const std::vector<std::string> found =
        fs::is_directory(path) ? audio_files(path) : std::vector<std::string>{path};
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

std::vector<HeardRecording> read_recordings(const std::vector<std::string>& paths, int64_t channel,
                                            int64_t sample_rate_hz) {
  std::vector<HeardRecording> recordings;
  for (const std::string& file : recording_files(paths)) {
    recordings.push_back({file, read_wave(file, channel, sample_rate_hz)});
  }
  return recordings;
}

}  // namespace s2s::run
