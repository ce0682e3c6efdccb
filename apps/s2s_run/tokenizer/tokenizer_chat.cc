#include "s2s_run/tokenizer/tokenizer_chat.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text.h"
#include "s2s/error.h"
#include "s2s_run/tokenizer/label_marks.h"
#include "s2s_run/tokenizer/tokenizer_file.h"
#include "text/document_encoder.h"
#include "text/text_files.h"
#include "text/text_line.h"

namespace s2s::run {
namespace {

struct ChatArguments {
  std::vector<std::string> words;  // [TOKENIZER] FILE
  std::string tokenizer, plugin;
  std::string chat_template = "tokenizer";
  int64_t line = 0;  // 0: all
  bool prompt = false;
  bool labels = false;
};

[[noreturn]] void throw_usage(const std::string& problem) {
  throw Error(ExitCode::kUsage, "usage/arguments",
              "tokenizer chat: " + problem +
                  "\n  write:     s2s-run tokenizer chat TOKENIZER FILE.jsonl\n"
                  "  see:       s2s-run tokenizer chat --help");
}

void print_line(const ChatArguments& arguments, const std::string& json,
                const data::LineOrigin& origin, const data::DocumentEncoder& encoder,
                const Tokenizer& tokenizer, bool is_json) {
  const data::TextLine line =
      data::parse_text_line(json, data::DocumentOptions(), origin.file, origin.line);
  std::string text = line.text + line.response;
  if (line.form == data::TextLine::Form::kChat) {
    text = encoder.chat_format()
               .render(line.messages, arguments.prompt, origin.text(), line.tools)
               .bytes();
  }
  const data::TokenDocument document = encoder.encode(json, origin);
  const auto num_labels = std::count(document.is_label.begin(), document.is_label.end(), true);
  if (is_json) {
    const nlohmann::ordered_json out = {{"place", origin.text()},
                                        {"text", text},
                                        {"ids", document.ids},
                                        {"labels", document.is_label}};
    std::printf("%s\n", out.dump().c_str());
    return;
  }
  fmt::print("{}: {}, {}\n", origin.text(), counted(document.size(), "token"),
             counted(static_cast<int64_t>(num_labels), "label"));
  fmt::print("{}\n", arguments.labels ? with_label_marks(document.ids, document.is_label, tokenizer)
                                      : text);
}

int chat(ChatArguments arguments, const Invocation& invocation) {
  if (arguments.tokenizer.empty() && arguments.words.size() == 2) {
    arguments.tokenizer = arguments.words.front();
    arguments.words.erase(arguments.words.begin());
  }
  if (arguments.words.size() != 1 || arguments.tokenizer.empty()) {
    throw_usage("expected a tokenizer and one file of conversations");
  }
  if (arguments.prompt && arguments.labels) {
    throw_usage("--labels marks what a model learns, and --prompt is what it answers");
  }
  Config options = Config::map();
  options["path"] = Config::scalar(arguments.tokenizer, /*quoted=*/true);
  const TokenizerFile tokenizer(invocation, options,
                                tokenizer_component_for(arguments.tokenizer, arguments.plugin),
                                "tokenizer");
  data::DocumentOptions document;
  document.chat_template = arguments.chat_template;
  document.labels = "response";
  const data::DocumentEncoder encoder(document, *tokenizer, "tokenizer chat", ".");
  const data::TextFiles files({arguments.words.front()});
  if (arguments.line > files.size()) {
    throw_usage(
        fmt::format("--line {}: the file has {}", arguments.line, counted(files.size(), "line")));
  }
  const int64_t begin = arguments.line > 0 ? arguments.line - 1 : 0;
  const int64_t end = arguments.line > 0 ? arguments.line : files.size();
  for (int64_t number = begin; number < end; ++number) {
    const std::string line = files.line(number);
    if (is_blank_line(line)) continue;
    print_line(arguments, line, files.origin(number), encoder, *tokenizer, invocation.json);
  }
  return 0;
}

}  // namespace

void add_chat_command(const Command& group) {
  const Command command = group.command(
      "chat", "print what the chat template makes of conversations, and what a model learns");
  ChatArguments& arguments = command.runs(chat);
  command
      .option("file", arguments.words,
              "[TOKENIZER] FILE: JSON lines with messages, as for data sets of texts")
      .required();
  command.option("--tokenizer", arguments.tokenizer,
                 "tokenizer.json or .model file, or the folder that contains it");
  command.option("--plugin", arguments.plugin,
                 "plugin that reads the tokenizer, if the file name does not determine it");
  command
      .option("--chat-template", arguments.chat_template,
              "tokenizer (the template in the folder of the tokenizer), chatml, or a file with a "
              "Jinja template")
      .shows_default();
  command.option("--line", arguments.line, "only this line of the file, from 1").positive();
  command.flag("--prompt", arguments.prompt, "add what the template writes before an answer");
  command.flag("--labels", arguments.labels,
               "print the tokens as text, with [[ ]] around those that a model learns with "
               "labels: response");
  command.json("print an object per line: place, text, ids, labels");
}

}  // namespace s2s::run
