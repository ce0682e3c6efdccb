#pragma once
// Parts of `generate`.

#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "audio/wave_file.h"
#include "s2s/config.h"
#include "s2s/error.h"
#include "s2s/kinds/model_capabilities.h"
#include "s2s/kinds/speaks_turns.h"
#include "s2s/kinds/tokenizer.h"
#include "s2s/nn/token_sampling.h"
#include "s2s_run/config/config_arguments.h"

namespace s2s {
class Log;
}
namespace s2s::data {
struct LineOrigin;
}

namespace s2s::run {

constexpr const char* kNoPrompts = "--prompt TEXT, or --input FILE with prompts";
constexpr const char* kFrameByFrame = "answer recordings frame by frame (--stream)";

struct GenerateArguments {
  ConfigArguments config;
  std::string checkpoint;
  std::vector<std::string> inputs;
  std::vector<std::string> prompts;
  std::string output;
  int64_t channel = 0;
  int64_t batch_size = 8;
  bool stream = false;
  bool chat = false;
  bool force = false;
  bool json = false;
  int64_t input_rate_hz = 0;  // of raw samples from standard input; 0: the model's
  SamplingOptions sampling;
  TextGenerationOptions text;
  std::string system_prompt;
  std::vector<std::string> end_tokens;
  std::string normalizer = "english";
};

struct HeardRecording {
  std::string path;
  Wave wave;
};

/// `paths`, with the audio files of folders, sorted by name, in place of these.
/// Errors: [data/no-recording] for a folder without audio.
std::vector<std::string> recording_files(const std::vector<std::string>& paths);
/// Reads all recording_files of `paths`. Errors: those of it and of read_wave.
std::vector<HeardRecording> read_recordings(const std::vector<std::string>& paths, int64_t channel,
                                            int64_t sample_rate_hz);

/// The answer to a recording, and timings.
struct Answer {
  at::Tensor audio_S;
  std::vector<int64_t> text_tokens;
  at::Tensor codes_TK;
  std::vector<double> frame_ms;  // streaming only
  double wall_s = 0;
};

/// Samples of a frame that is fed to `model`, of its source rate.
int64_t samples_per_frame(const AnswersSpeech& model);

/// The words of a text channel. Its PAD may be a token that decoding shows.
std::string channel_text(std::vector<int64_t> ids, const Tokenizer& tokenizer);

/// The line of answers.jsonl. wav: "" for an answer without a voice.
nlohmann::ordered_json answer_line(const std::string& input, const std::string& wav,
                                   const Answer& answer, const AnswersSpeech& model,
                                   double audio_s);

/// codes_TK -> T lists of K codes.
std::vector<std::vector<int64_t>> code_lists(const at::Tensor& codes_TK);

/// The name of the WAV file that answers `input`, which may contain line feeds and escapes.
std::string answer_wav_name(size_t index, const std::string& input);

/// Answers the recordings of --input one by one. Writes a WAV file for each, and answers.jsonl, to
/// --output. Errors: [usage/arguments], [model/capability], [io/exists], [io/write], those of
/// read_recordings.
void answer_recordings(const GenerateArguments& arguments, const std::string& type,
                       AnswersSpeech& speech, at::Device device, Log& log);

/// `--input -`: the audio comes from standard input.
bool is_piped(const GenerateArguments& arguments);

/// Errors: [usage/arguments] where standard input or output does not fit.
void check_pipe(const GenerateArguments& arguments);

/// Answers the audio of standard input, and writes the answer to standard output as it is made. Its
/// forms are in core/docs/guides/audio_from_a_pipe.md. ^C ends the audio. Writes the files of
/// answer_recordings, too, if --output is given. Returns kStopped after ^C.
/// Errors: [model/capability], [data/unreadable-audio], [data/empty-audio], [data/channel],
/// [io/exists], [io/output].
ExitCode answer_pipe(const GenerateArguments& arguments, const std::string& type,
                     AnswersSpeech& speech, at::Device device, Log& log);

/// Prints a line of JSON at once. Texts of models need not be whole characters.
void print_json_line(const nlohmann::ordered_json& line);

/// Writes answers.jsonl, one line per answer, when it is complete.
class AnswerLines {
 public:
  /// --output "": none. --json: the lines are printed, too. Errors: [io/exists].
  explicit AnswerLines(const GenerateArguments& arguments);
  void add(const nlohmann::ordered_json& line);

 private:
  bool prints_;
  std::string path_;
  std::optional<std::ofstream> lines_;
};

/// The bytes of a recording would be read as prompts. Errors: [model/capability].
void refuse_recordings(const GenerateArguments& arguments, const std::string& type);

/// A line of a file of prompts; `place` is FILE:LINE.
using ReadPrompt = std::function<void(const std::string& line, const data::LineOrigin& origin)>;
/// Calls `read` with each line that is not empty. Errors: [data/prompt].
void read_prompt_lines(const std::string& path, const ReadPrompt& read);
/// Whether lines of the file are JSON objects.
bool is_json_lines(const std::string& path);
/// The text "prompt" of an object. Errors: [data/prompt].
std::string prompt_of_object(const nlohmann::json& object, const std::string& place);

/// The prompts of a file: a line each; in a .jsonl file the value of "prompt".
/// Errors: [data/prompt].
std::vector<std::string> prompts_of_file(const std::string& path);

/// The inputs of a model that takes audio and writes text.
struct AskedModel {
  const std::string& type;
  const Config& config;
  TextGenerator& writer;
  const Registries& registries;
  std::function<void(const std::string& message)> warn;
};

/// Answers recordings and conversations of --input with text, in the model's prompt format; without
/// --input, the prompts of --prompt. Prints each answer, word errors and speed, and writes
/// answers.jsonl to --output if that is given.
/// Errors: [usage/arguments], [data/prompt-format], [data/prompt-turns], those of data sets.
void answer_conversations(const GenerateArguments& arguments, const AskedModel& model);

/// Throws [usage/arguments].
[[noreturn]] void throw_generate_usage(const std::string& problem);

/// The options of text answers, with the ids of --end-token. Errors: [usage/arguments].
TextGenerationOptions text_options_of(const GenerateArguments& arguments,
                                      const Tokenizer& tokenizer);

/// Throws [usage/arguments]: what a model of `type` needs to answer.
[[noreturn]] void throw_no_input(const std::string& type, const std::string& needed);

/// The WAV files 000.wav, 001.wav, ... and answers.jsonl of --output.
class SpokenFiles {
 public:
  /// Errors: [usage/arguments], [io/exists], [io/write].
  SpokenFiles(const GenerateArguments& arguments, const std::string& type, size_t count,
              int64_t sample_rate_hz);
  /// Writes the next one, and prints what was written. `more`: further keys of the line, and a note
  /// for the reader. Errors: [io/write].
  void add(const std::string& prompt, const at::Tensor& audio_S,
           const nlohmann::ordered_json& more = nlohmann::ordered_json::object(),
           const std::string& note = "");

 private:
  const GenerateArguments& arguments_;
  int64_t sample_rate_hz_;
  size_t next_ = 0;
  std::ofstream lines_;
};

/// Speaks the texts of --prompt, and the texts and conversations of the files of --input, with a
/// model that ends its speech itself. Writes as speak_prompts.
/// Errors: [usage/arguments], [data/prompt], [data/spoken-text], [data/spoken-turns], those of
/// SpokenFiles and of read_wave.
void speak_turns(const GenerateArguments& arguments, const std::string& type, SpeaksTurns& model);

/// Speaks the prompts of --prompt and of the files of --input. Writes a WAV file for each, and
/// answers.jsonl, to --output.
/// Errors: [usage/arguments], [data/prompt], [io/exists], [io/write], those of the voice.
void speak_prompts(const GenerateArguments& arguments, const std::string& type, SpeaksText& model,
                   at::Device device);

/// The texts of --prompt and of the files of --input. Errors: [usage/arguments], [data/prompt].
std::vector<std::string> prompts_of(const GenerateArguments& arguments, const std::string& type);

/// Answers the prompts of --prompt and the prompts and chats of the files of --input. Prints each
/// answer, and writes answers.jsonl to --output if that is given. `config`: of the run; its
/// training data say how chats are written. `type`: of the model. Errors: [usage/arguments],
/// [data/prompt], [data/chat-messages], [data/chat-template], [io/exists].
void answer_prompts(const GenerateArguments& arguments, const Config& config,
                    const std::string& type, TextGenerator& model);

}  // namespace s2s::run
