// s2s-run generate [CONFIG] --checkpoint DIR --input WAV... --output DIR [--stream]
// s2s-run generate [CONFIG] --checkpoint DIR --prompt TEXT... [--chat] [--output DIR]
//   The second form also makes a model that speaks a given text speak; it needs --output.
// s2s-run generate [CONFIG] --checkpoint DIR --input WAV|MANIFEST... --prompt TEXT [--output DIR]

#include "s2s_run/run/generate.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "audio/audio_errors.h"
#include "audio/wave_file.h"
#include "base/atomic_file.h"
#include "base/interrupt.h"
#include "base/io_errors.h"
#include "base/log.h"
#include "checkpoint/checkpoint.h"
#include "convert/source_files.h"
#include "run/run.h"
#include "run/run_processes.h"
#include "s2s/data/resample.h"
#include "s2s/foreign_text.h"
#include "s2s_run/config/config_arguments.h"
#include "s2s_run/new_output.h"
#include "s2s_run/subcommands.h"

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

/// The answer to one input, and timings.
struct Answer {
  at::Tensor audio_S;
  std::vector<int64_t> text_tokens;
  at::Tensor codes_TK;
  std::vector<double> frame_ms;  // streaming only
  double wall_s = 0;
};

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
Answer stream(AnswersSpeech& model, const at::Tensor& audio_S) {
  Answer answer;
  std::vector<at::Tensor> audio, codes;
  const auto hop = static_cast<int64_t>(
      model.frame_length_s() * static_cast<double>(model.source_sample_rate_hz()) + 0.5);
  const auto begin = Clock::now();
  const std::unique_ptr<DuplexSession> session = model.open_session();
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

/// The words of a text channel. Its PAD may be a token that decoding shows.
std::string channel_text(std::vector<int64_t> ids, const Tokenizer& tokenizer) {
  std::erase(ids, tokenizer.special_ids().pad);
  return tokenizer.decode(ids);
}

/// wav: "" for an answer without a voice.
nlohmann::ordered_json to_json(const std::string& input, const std::string& wav,
                               const Answer& answer, const AnswersSpeech& model, double audio_s) {
  const at::Tensor codes = answer.codes_TK.contiguous();
  std::vector<std::vector<int64_t>> codes_TK;
  for (int64_t t = 0; t < codes.size(0); ++t) {
    const int64_t* row = codes.data_ptr<int64_t>() + t * codes.size(1);
    codes_TK.emplace_back(row, row + codes.size(1));
  }
  return {{"input", input},
          {"output", wav.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(wav)},
          {"text", channel_text(answer.text_tokens, model.tokenizer())},
          {"text_tokens", answer.text_tokens},
          {"audio_tokens", codes_TK},
          {"seconds", audio_s},
          {"real_time_factor", answer.wall_s / audio_s}};
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

/// CLI11 reads an option's name as the recording when the recording is missing.
std::string not_an_option(const std::string& word) {
  return word.starts_with("--") ? "expected a recording, found the option " + word : "";
}

/// The name of a file from that of an input, which may contain line feeds and escapes.
std::string wav_name(size_t index, const std::string& input) {
  std::string stem = printable_name(fs::path(input).stem().string());
  std::replace(stem.begin(), stem.end(), '\\', '_');
  return fmt::format("{:03}_{}.wav", index, stem);
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
    files.push_back((fs::path(arguments.output) / wav_name(i, inputs[i].path)).string());
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
    const Answer answer = arguments.stream ? stream(model, heard_S) : whole(model, heard_S);
    const bool has_voice = model.answer_sample_rate_hz() > 0;
    const std::string wav = has_voice ? wav_name(i, inputs[i].path) : "";
    const std::string file = has_voice ? (fs::path(arguments.output) / wav).string() : "";
    if (has_voice) write_wave(file, answer.audio_S, model.answer_sample_rate_hz());
    const auto line = to_json(inputs[i].path, wav, answer, model, audio_s);
    lines << line.dump() << std::endl;
    if (!lines) throw write_error(answers.string(), "cannot write", errno);
    print_answer(inputs[i], line.at("text").get<std::string>(), file);
    print_costs(answer, audio_s);
  }
}

void answer_recordings(const GenerateArguments& arguments, const std::string& type,
                       AnswersSpeech& speech, at::Device device, Log& log) {
  if (arguments.inputs.empty()) throw_no_input(type, "--input WAV");
  if (arguments.output.empty()) throw_no_input(type, "--output FOLDER");
  if (arguments.stream && speech.open_session() == nullptr) {
    throw_no_capability(type, "answer recordings frame by frame (--stream)");
  }
  speech.choose_tokens_by(arguments.sampling);
  // Reads all inputs before the first answer, so that a bad input is reported at once.
  const std::vector<HeardRecording> inputs =
      read_recordings(arguments.inputs, arguments.channel, speech.source_sample_rate_hz());
  require_new_answers(arguments, inputs);
  note_channels(inputs, arguments.channel, log);
  answer_all(arguments, speech, device, inputs);
}

int run_generate(GenerateArguments arguments, const Invocation& invocation) {
  require_one_process("generate");
  outlive_readers();
  take_checkpoint(arguments.config, arguments.checkpoint, "s2s-run generate");
  const std::string place =
      std::exchange(arguments.checkpoint, checkpoint_of(arguments.checkpoint));
  complete_config(arguments.config, arguments.checkpoint);
  const Run setup(arguments.config, RunPurpose::kGenerate, invocation, arguments.checkpoint);
  Console console(std::cerr, standard_error_is_terminal(), terminal_width());
  Log log(&console);
  setup.warnings().send_to([&log](const std::string& message) { log.warning(message); });
  if (place != arguments.checkpoint) log.info(fmt::format("loading {}", arguments.checkpoint));
  check_same_parts(arguments.checkpoint, setup.config());  // check before reading its tokenizer
  const std::unique_ptr<Tokenizer> tokenizer = setup.builder().tokenizer(arguments.checkpoint);
  const std::unique_ptr<Model> model = setup.builder().model(tokenizer.get(), arguments.checkpoint);
  load_model(arguments.checkpoint, *model);
  model->train(false);
  const std::string& type = setup.builder().settings().model.type;
  if (auto* const writer = find_capability<TextGenerator>(*model)) {
    const auto warn = [&log](const std::string& message) { log.warning(message); };
    if (writer->source_sample_rate_hz() > 0) {
      answer_conversations(arguments, {type, setup.config(), *writer, warn});
    } else {
      answer_prompts(arguments, setup.config(), type, *writer);
    }
    return 0;
  }
  if (auto* const speaker = find_capability<SpeaksText>(*model)) {
    speak_prompts(arguments, type, *speaker, setup.builder().device());
    return 0;
  }
  auto& speech = require_capability<AnswersSpeech>(*model, type, "answer recordings");
  answer_recordings(arguments, type, speech, setup.builder().device(), log);
  return 0;
}

void add_sampling_options(const Command& command, SamplingOptions& sampling) {
  const Argument temperature =
      command
          .option("--temperature", sampling.temperature,
                  "sampling temperature; 0 (default): always take the most likely token")
          .not_negative();
  command.option("--top-k", sampling.top_k, "sample from the K most likely tokens; 0: from all")
      .whole_number()
      .needs(temperature);
  command
      .option(
          "--top-p", sampling.top_p,
          "nucleus sampling: sample from the smallest set of tokens with this total probability")
      .share()
      .needs(temperature);
  command.option("--seed", sampling.seed, "random seed; each recording starts from it")
      .whole_number()
      .needs(temperature);
  command
      .option("--repetition-penalty", sampling.repetition_penalty,
              "above 1: makes words already said less likely (text channel)")
      .positive();
}

void add_text_options(const Command& command, GenerateArguments& arguments) {
  TextGenerationOptions& text = arguments.text;
  command
      .option("--max-new-tokens", text.max_new_tokens,
              "longest answer to a prompt, in tokens (default: 128)")
      .positive();
  command.option("--stop", text.stop, "text that ends an answer; may be repeated").takes_one();
  command
      .option("--end-token", arguments.end_tokens,
              "token that ends an answer, beside the model's own; may be repeated")
      .takes_one();
  command
      .option("--num-beams", text.num_beams,
              "above 1: beam search with so many beams, without sampling")
      .positive();
  command.option("--length-penalty", text.length_penalty,
                 "beam search divides scores by length to this power (default: 1)");
  command.option("--batch-size", arguments.batch_size, "prompts answered together (default: 8)")
      .positive();
  command.option("--system-prompt", arguments.system_prompt,
                 "text of the system for conversations that have none");
  command
      .option("--normalizer", arguments.normalizer,
              "how texts are written alike before words are compared with a reference: english "
              "(default), basic or none")
      .one_of({"english", "basic", "none"});
}

}  // namespace

std::vector<HeardRecording> read_recordings(const std::vector<std::string>& paths, int64_t channel,
                                            int64_t sample_rate_hz) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    const std::vector<std::string> found =
        fs::is_directory(path) ? audio_files(path) : std::vector<std::string>{path};
    files.insert(files.end(), found.begin(), found.end());
  }
  std::vector<HeardRecording> recordings;
  for (const std::string& file : files) {
    recordings.push_back({file, read_wave(file, channel, sample_rate_hz)});
  }
  return recordings;
}

void setup_generate(const Command& program) {
  const Command command = program.command(
      "generate", "answer recordings, continue prompts, or speak them, with a trained model");
  GenerateArguments& arguments = command.runs(run_generate);
  add_checkpoint_arguments(command, arguments.config, arguments.checkpoint);
  command
      .option("--input", arguments.inputs,
              "user recordings, or folders of recordings; for a model that reads text: files with "
              "a prompt per line (.jsonl: {\"prompt\"} or {\"messages\"}), and, if it hears, with "
              "recordings or conversations (cuts, NeMo's manifests)")
      .check(not_an_option, "recording");
  command
      .option("--prompt", arguments.prompts,
              "text to continue, or to speak; may be repeated; with recordings: what to do with "
              "them")
      .takes_one();
  command.flag("--chat", arguments.chat,
               "each prompt of --prompt, or line of a text file, is a user's message: the chat "
               "template writes it, and the end of the assistant's turn ends the answer");
  command.option("--output", arguments.output, "output folder for WAV files and answers.jsonl");
  command
      .option("--channel", arguments.channel,
              "channel of the recordings to use, from 0 (default: 0)")
      .whole_number();
  command.force(arguments.force);
  command.flag("--stream", arguments.stream,
               "feed the audio in steps of 80 ms and answer frame by frame");
  add_sampling_options(command, arguments.sampling);
  add_text_options(command, arguments);
}

}  // namespace s2s::run
