// generate --prompt: answers of a model that writes text.

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
#include "s2s/error.h"
#include "s2s/foreign_text.h"
#include "s2s_run/new_output.h"
#include "s2s_run/run/generate.h"

namespace s2s::run {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kLongestFile = uint64_t{1} << 30;

[[noreturn]] void throw_prompt(const std::string& place, const std::string& found) {
  throw Error(
      ExitCode::kData, "data/prompt",
      fmt::format("{}: {}\n  expected: lines of text, or {{\"prompt\": \"...\"}}", place, found));
}

TextPrompt encoded(const std::string& text, const Tokenizer& tokenizer) {
  TextPrompt prompt;
  if (tokenizer.special_ids().bos >= 0) prompt.ids.push_back(tokenizer.special_ids().bos);
  const std::vector<int64_t> ids = tokenizer.encode(text);
  prompt.ids.insert(prompt.ids.end(), ids.begin(), ids.end());
  if (prompt.ids.empty()) {
    throw_prompt("--prompt", "the prompt is empty, and the tokenizer has no BOS to begin with");
  }
  return prompt;
}

}  // namespace

std::vector<std::string> prompts_of_file(const std::string& path) {
  if (fs::is_directory(path)) throw_prompt(printable_name(path), "this is a folder");
  if (!fs::exists(path)) throw_prompt(printable_name(path), "there is no such file");
  const std::string text = read_small_file(path, kLongestFile);
  const bool is_json = fs::path(path).extension() == ".jsonl";
  std::vector<std::string> prompts;
  size_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.empty()) continue;
    if (!is_json) {
      prompts.push_back(line);
      continue;
    }
    const std::string place = fmt::format("{}:{}", printable_name(path), number);
    const auto object = try_parse_foreign_json<nlohmann::json>(line);
    if (object.is_discarded()) throw_prompt(place, "the line is not JSON");
    const auto prompt = object.is_object() ? object.find("prompt") : object.end();
    if (!object.is_object() || prompt == object.end() || !prompt->is_string()) {
      throw_prompt(place, "the line has no text \"prompt\"");
    }
    prompts.push_back(prompt->get<std::string>());
  }
  if (prompts.empty()) throw_prompt(printable_name(path), "the file is empty");
  return prompts;
}

AnswerLines::AnswerLines(const std::string& folder, bool force) {
  if (folder.empty()) return;
  path_ = (fs::path(folder) / "answers.jsonl").string();
  require_new({path_}, force);
  make_folders(folder);
  lines_.emplace(path_);
}

void AnswerLines::add(const nlohmann::ordered_json& line) {
  if (!lines_) return;
  *lines_ << line.dump() << std::endl;
  if (!*lines_) throw write_error(path_, "cannot write", errno);
}

void throw_no_input(const std::string& type, const std::string& needed) {
  throw Error(ExitCode::kUsage, "usage/arguments",
              fmt::format("generate: a model of type {} needs {}\n  see: s2s-run generate --help",
                          type, needed));
}

void answer_prompts(const GenerateArguments& arguments, const std::string& type,
                    TextGenerator& model) {
  std::vector<std::string> prompts = arguments.prompts;
  for (const std::string& path : arguments.inputs) {
    const std::vector<std::string> more = prompts_of_file(path);
    prompts.insert(prompts.end(), more.begin(), more.end());
  }
  if (prompts.empty()) throw_no_input(type, "--prompt TEXT, or --input FILE with prompts");
  std::vector<TextPrompt> encoded_prompts;
  for (const std::string& prompt : prompts) {
    encoded_prompts.push_back(encoded(prompt, model.tokenizer()));
  }
  AnswerLines answers(arguments.output, arguments.force);
  const auto step = static_cast<size_t>(arguments.batch_size);
  for (size_t begin = 0; begin < prompts.size(); begin += step) {
    const size_t end = std::min(begin + step, prompts.size());
    const std::vector<TextPrompt> batch(
        encoded_prompts.begin() + static_cast<std::ptrdiff_t>(begin),
        encoded_prompts.begin() + static_cast<std::ptrdiff_t>(end));
    const auto texts = model.continue_prompts(batch, arguments.text, arguments.sampling);
    for (size_t i = begin; i < end; ++i) {
      const TextAnswer& answer = texts[i - begin];
      fmt::print("{}\n  {}\n", printable(prompts[i]), printable(answer.text));
      std::fflush(stdout);
      answers.add({{"prompt", prompts[i]},
                   {"text", answer.text},
                   {"tokens", answer.tokens},
                   {"ended", answer.is_ended}});
    }
  }
}

}  // namespace s2s::run
