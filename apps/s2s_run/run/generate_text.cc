// generate --prompt, --chat: answers of a model that writes text.

#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/atomic_file.h"
#include "base/foreign_json.h"
#include "base/io_errors.h"
#include "base/text.h"
#include "convert/source_files.h"
#include "s2s/config.h"
#include "s2s/error.h"
#include "s2s/foreign_text.h"
#include "s2s_run/new_output.h"
#include "s2s_run/run/generate.h"
#include "text/prompt_encoder.h"
#include "text/text_errors.h"

namespace s2s::run {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kLongestFile = uint64_t{1} << 30;

/// A file of prompts that cannot be read as one.
[[noreturn]] void throw_file(const std::string& path, const std::string& found) {
  throw data::text_errors::prompt(printable_name(path), found, {});
}

}  // namespace

bool is_json_lines(const std::string& path) { return fs::path(path).extension() == ".jsonl"; }

void read_prompt_lines(const std::string& path, const ReadPrompt& read) {
  if (fs::is_directory(path)) throw_file(path, "this is a folder");
  if (!fs::exists(path)) throw_file(path, "there is no such file");
  std::string text;
  try {
    text = read_small_file(path, kLongestFile);
  } catch (const std::system_error& error) {
    throw_file(path,
               fs::is_regular_file(path) ? error.code().message() : "this is no regular file");
  }
  data::LineOrigin origin{printable_name(path), 0};
  bool has_any = false;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    ++origin.line;
    if (line.empty()) continue;
    has_any = true;
    read(line, origin);
  }
  if (!has_any) throw_file(path, "the file is empty");
}

namespace {

/// The keys of lines, and the chat template, as for the training data of the run.
data::DocumentOptions options_of(const Config& config) {
  data::DocumentOptions options;
  const Config* const training = config.find_path("data.train_ds");
  const auto read = [&](const char* key, std::string& value) {
    const Config* const given = training == nullptr ? nullptr : training->find(key);
    if (given != nullptr && given->is_scalar()) value = given->text();
  };
  read("prompt_key", options.prompt_key);
  read("messages_key", options.messages_key);
  read("chat_template", options.chat_template);
  return options;
}

/// The prompts of a command line.
class PromptReader {
 public:
  PromptReader(const Config& config, const Tokenizer& tokenizer, bool is_chat)
      : encoder_(options_of(config), tokenizer, "data.train_ds", "."), is_chat_(is_chat) {}

  void read_text(const std::string& text, const std::string& place) {
    prompts_.push_back(is_chat_ ? encoder_.of_message(text, place) : encoder_.of_text(text, place));
  }

  /// A prompt per line; in a .jsonl file a JSON object.
  void read_file(const std::string& path) {
    const bool is_json = is_json_lines(path);
    read_prompt_lines(path, [&](const std::string& line, const data::LineOrigin& origin) {
      if (is_json) {
        prompts_.push_back(encoder_.of_line(line, origin));
      } else {
        read_text(line, origin.text());
      }
    });
  }

  const std::vector<data::AskedPrompt>& prompts() const { return prompts_; }
  const data::TurnEnd& turn_end() const { return encoder_.turn_end(); }

 private:
  data::PromptEncoder encoder_;
  bool is_chat_;
  std::vector<data::AskedPrompt> prompts_;
};

/// The prompts of --prompt and of the files of --input.
PromptReader read_prompts(const GenerateArguments& arguments, const Config& config,
                          const std::string& type, const Tokenizer& tokenizer) {
  PromptReader reader(config, tokenizer, arguments.chat);
  for (const std::string& prompt : arguments.prompts) reader.read_text(prompt, "--prompt");
  for (const std::string& path : arguments.inputs) reader.read_file(path);
  if (reader.prompts().empty()) {
    throw_no_input(type, kNoPrompts);
  }
  return reader;
}

}  // namespace

void refuse_recordings(const GenerateArguments& arguments, const std::string& type) {
  for (const std::string& path : arguments.inputs) {
    if (convert::is_audio_name(path)) throw_no_capability(type, "answer recordings");
  }
}

std::string prompt_of_object(const nlohmann::json& object, const std::string& place) {
  const auto prompt = object.is_object() ? object.find("prompt") : object.end();
  if (!object.is_object() || prompt == object.end() || !prompt->is_string()) {
    throw_file(place,
               object.is_discarded() ? "the line is not JSON" : "the line has no text \"prompt\"");
  }
  return prompt->get<std::string>();
}

std::vector<std::string> prompts_of_file(const std::string& path) {
  std::vector<std::string> prompts;
  const bool is_json = is_json_lines(path);
  read_prompt_lines(path, [&](const std::string& line, const data::LineOrigin& origin) {
    if (!is_json) return prompts.push_back(line);
    prompts.push_back(
        prompt_of_object(try_parse_foreign_json<nlohmann::json>(line), origin.text()));
  });
  return prompts;
}

void print_json_line(const nlohmann::ordered_json& line) {
  fmt::print("{}\n", line.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace));
  std::fflush(stdout);
}

AnswerLines::AnswerLines(const GenerateArguments& arguments) : prints_(arguments.json) {
  if (arguments.output.empty()) return;
  path_ = (fs::path(arguments.output) / "answers.jsonl").string();
  require_new({path_}, arguments.force);
  make_folders(arguments.output);
  lines_.emplace(path_);
}

void AnswerLines::add(const nlohmann::ordered_json& line) {
  if (prints_) print_json_line(line);
  if (!lines_) return;
  // Texts of models and of command lines need not be whole characters.
  *lines_ << line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
          << std::endl;
  if (!*lines_) throw write_error(path_, "cannot write", errno);
}

void throw_no_input(const std::string& type, const std::string& needed) {
  throw_generate_usage(fmt::format("a model of type {} needs {}", type, needed));
}

void throw_generate_usage(const std::string& problem) {
  throw Error(ExitCode::kUsage, "usage/arguments",
              "generate: " + problem + "\n  see: s2s-run generate --help");
}

TextGenerationOptions text_options_of(const GenerateArguments& arguments,
                                      const Tokenizer& tokenizer) {
  TextGenerationOptions options = arguments.text;
  for (const std::string& text : arguments.end_tokens) {
    const std::vector<int64_t> found = tokenizer.encode(text);
    if (found.size() != 1) {
      throw_generate_usage(fmt::format("--end-token '{}' is {} of the model, expected 1 token",
                                       printable_name(text),
                                       counted(static_cast<int64_t>(found.size()), "token")));
    }
    options.end_tokens.push_back(found.front());
  }
  return options;
}

std::vector<std::string> prompts_of(const GenerateArguments& arguments, const std::string& type) {
  std::vector<std::string> prompts = arguments.prompts;
  refuse_recordings(arguments, type);
  for (const std::string& path : arguments.inputs) {
    const std::vector<std::string> more = prompts_of_file(path);
    prompts.insert(prompts.end(), more.begin(), more.end());
  }
  if (prompts.empty()) throw_no_input(type, kNoPrompts);
  return prompts;
}

void answer_prompts(const GenerateArguments& arguments, const Config& config,
                    const std::string& type, TextGenerator& model) {
  refuse_recordings(arguments, type);
  const PromptReader reader = read_prompts(arguments, config, type, model.tokenizer());
  const std::vector<data::AskedPrompt>& prompts = reader.prompts();
  if (!arguments.system_prompt.empty()) {
    throw_generate_usage(fmt::format(
        "--system-prompt: a model of type {} takes it as a message of role system in --input",
        type));
  }
  TextGenerationOptions options = text_options_of(arguments, model.tokenizer());
  const data::TurnEnd& end = reader.turn_end();
  options.end_tokens.insert(options.end_tokens.end(), end.tokens.begin(), end.tokens.end());
  options.stop.insert(options.stop.end(), end.texts.begin(), end.texts.end());
  AnswerLines answers(arguments);
  const auto step = static_cast<size_t>(arguments.batch_size);
  for (size_t begin = 0; begin < prompts.size(); begin += step) {
    const size_t end_of_batch = std::min(begin + step, prompts.size());
    std::vector<TextPrompt> batch;
    for (size_t i = begin; i < end_of_batch; ++i) batch.push_back({prompts[i].ids, {}});
    const auto texts = model.continue_prompts(batch, options, arguments.sampling);
    for (size_t i = begin; i < end_of_batch; ++i) {
      const TextAnswer& answer = texts[i - begin];
      if (!arguments.json) {
        fmt::print("{}\n  {}\n", printable(prompts[i].asked), printable(answer.text));
        std::fflush(stdout);
      }
      answers.add({{"prompt", prompts[i].text},
                   {"text", answer.text},
                   {"tokens", answer.tokens},
                   {"ended", answer.is_ended}});
    }
  }
}

}  // namespace s2s::run
