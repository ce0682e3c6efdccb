// s2s-run tokenizer encode|decode|chat|train: encodes text, decodes ids, trains tokenizers.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/foreign_json.h"
#include "base/standard_output.h"
#include "s2s_run/new_output.h"
#include "s2s_run/subcommands.h"
#include "s2s_run/tokenizer/tokenizer_chat.h"
#include "s2s_run/tokenizer/tokenizer_file.h"

namespace s2s::run {
namespace {

struct CodeArguments {
  std::string path;
  std::string plugin;              // "": determined from the file name
  std::vector<std::string> words;  // texts or lists of ids; empty: lines of standard input
  bool special = false;
  std::optional<int64_t> bos_id, eos_id, pad_id;
};

struct TrainArguments {
  std::vector<std::string> inputs;
  std::string output;
  std::string plugin;
  std::string model_type;
  int64_t vocab_size = 8000;
  bool force = false;
};

Error bad_ids(const std::string& place, const std::string& text) {
  return Error(ExitCode::kData, "tokenizer/ids",
               fmt::format("{}: '{}' is not a list of ids; expected one JSON list of integers per "
                           "line, as printed by 'tokenizer encode'",
                           place, text.substr(0, 60)));
}

Error bad_text(const std::string& place, const std::string& text) {
  return Error(ExitCode::kData, "tokenizer/text",
               fmt::format("{}: '{}' is not a JSON string; with --json, expected one per line; "
                           "without --json, each line is a text",
                           place, text.substr(0, 60)));
}

/// The text of a line: the line itself, or with `json` the string that it encodes.
std::string parse_text(const std::string& line, const std::string& place, bool json) {
  if (!json) return line;
  const auto parsed = try_parse_foreign_json(line);
  if (!parsed.is_string()) throw bad_text(place, line);
  return parsed.get<std::string>();
}

TokenizerFile open_tokenizer(const CodeArguments& arguments, const Invocation& invocation) {
  Config options = Config::map();
  options["path"] = Config::scalar(arguments.path, /*quoted=*/true);
  const auto set = [&](const char* key, const std::optional<int64_t>& id) {
    if (id) options[key] = Config::scalar(std::to_string(*id));
  };
  set("bos_id", arguments.bos_id);
  set("eos_id", arguments.eos_id);
  set("pad_id", arguments.pad_id);
  return TokenizerFile(invocation, options,
                       tokenizer_component_for(arguments.path, arguments.plugin), "tokenizer");
}

template <class Visit>
void for_each_line(const CodeArguments& arguments, const Visit& visit) {
  int64_t number = 0;
  const auto place = [&](const char* of) { return fmt::format("{}:{}", of, ++number); };
  for (const std::string& word : arguments.words) visit(word, place("command line"));
  if (!arguments.words.empty()) return;
  for (std::string line; std::getline(std::cin, line);) visit(line, place("standard input"));
}

/// BOS and EOS, where the tokenizer has them. Errors: [tokenizer/special-ids] when it has none.
void add_special(std::vector<int64_t>& ids, const Tokenizer& tokenizer) {
  const SpecialIds known = tokenizer.known_special_ids();
  if (known.bos < 0 && known.eos < 0) tokenizer.special_ids();  // which says so
  if (known.bos >= 0) ids.insert(ids.begin(), known.bos);
  if (known.eos >= 0) ids.push_back(known.eos);
}

int encode(const CodeArguments& arguments, const Invocation& invocation) {
  const TokenizerFile tokenizer = open_tokenizer(arguments, invocation);
  for_each_line(arguments, [&](const std::string& line, const std::string& place) {
    std::vector<int64_t> ids = tokenizer->encode(parse_text(line, place, invocation.json));
    if (arguments.special) add_special(ids, *tokenizer);
    std::cout << nlohmann::json(ids).dump() << '\n';
  });
  return 0;
}

Error unknown_id(const std::string& place, const std::string& id, int64_t vocab_size) {
  return {ExitCode::kData, "tokenizer/ids",
          place + ": this tokenizer has no id " + id + "; its ids range from 0 to " +
              std::to_string(vocab_size - 1) + "; use the tokenizer that encoded the list"};
}

std::vector<int64_t> parse_ids(const std::string& line, const std::string& place,
                               int64_t vocab_size) {
  const auto json = try_parse_foreign_json(line);
  if (!json.is_array()) throw bad_ids(place, line);
  for (const auto& id : json) {
    if (!id.is_number_integer()) throw bad_ids(place, line);
    if (id < 0 || id >= vocab_size) throw unknown_id(place, id.dump(), vocab_size);
  }
  return json;
}

/// Decodes text; special ids become their pieces.
std::string decode_with_special(const std::vector<int64_t>& ids, const Tokenizer& tokenizer) {
  const SpecialIds special = tokenizer.known_special_ids();
  std::string text;
  std::vector<int64_t> plain;
  const auto flush = [&] {
    if (!plain.empty()) text += tokenizer.decode(plain);
    plain.clear();
  };
  for (const int64_t id : ids) {
    if (id != special.bos && id != special.eos && id != special.pad) {
      plain.push_back(id);
      continue;
    }
    flush();
    text += tokenizer.piece(id);
  }
  flush();
  return text;
}

/// A SentencePiece model without PAD takes its unknown token for it, and a text channel would hide
/// that. A decoded text shows it, as the library does.
TokenizerFile open_for_decoding(CodeArguments& arguments, const Invocation& invocation) {
  const bool may_hide =
      !arguments.pad_id && !arguments.special &&
      tokenizer_component_for(arguments.path, arguments.plugin) == "sentencepiece";
  if (may_hide) {
    const int64_t eos = open_tokenizer(arguments, invocation)->known_special_ids().eos;
    if (eos >= 0) arguments.pad_id = eos;
  }
  return open_tokenizer(arguments, invocation);
}

/// Joins `5 6 7` on the command line to one list.
void join_ids(CodeArguments& arguments) {
  if (arguments.words.empty() || arguments.words[0].starts_with('[')) return;
  arguments.words = {fmt::format("[{}]", fmt::join(arguments.words, ","))};
}

int decode(const CodeArguments& asked, const Invocation& invocation) {
  CodeArguments arguments = asked;
  join_ids(arguments);
  const TokenizerFile tokenizer = open_for_decoding(arguments, invocation);
  if (!invocation.json) write_standard_output_as_it_is();
  for_each_line(arguments, [&](const std::string& line, const std::string& place) {
    const std::vector<int64_t> ids = parse_ids(line, place, tokenizer->vocab_size());
    const std::string text =
        arguments.special ? decode_with_special(ids, *tokenizer) : tokenizer->decode(ids);
    std::cout << (invocation.json ? nlohmann::json(text).dump() : text) << '\n';
  });
  return 0;
}

int train(const TrainArguments& arguments, const Invocation& invocation) {
  require_new({arguments.output}, arguments.force);
  Config options = Config::map();
  options["path"] = Config::scalar(arguments.output, /*quoted=*/true);
  Config& train = options["train"];
  std::vector<Config> inputs;
  for (const std::string& input : arguments.inputs) {
    inputs.push_back(Config::scalar(input, /*quoted=*/true));
  }
  train["input"] = Config::list(std::move(inputs));
  if (!arguments.model_type.empty()) train["model_type"] = Config::scalar(arguments.model_type);
  train["vocab_size"] = Config::scalar(std::to_string(arguments.vocab_size));
  train["overwrite"] = Config::scalar("true");
  const TokenizerFile tokenizer(invocation, options,
                                tokenizer_component_for(arguments.output, arguments.plugin),
                                "tokenizer", TokenizerUse::kTrain);
  if (invocation.json) {
    const nlohmann::ordered_json out = {{"path", arguments.output},
                                        {"vocab_size", tokenizer->vocab_size()}};
    std::printf("%s\n", out.dump().c_str());
  } else {
    std::printf("wrote %s: %lld tokens\n", arguments.output.c_str(),
                static_cast<long long>(tokenizer->vocab_size()));
  }
  return 0;
}

void add_code_command(const Command& group, const char* name, const char* description,
                      int (*run)(const CodeArguments&, const Invocation&)) {
  const Command command = group.command(name, description);
  CodeArguments& arguments = command.runs(run);
  command
      .option("tokenizer,--tokenizer", arguments.path,
              "tokenizer.json or .model file, or the folder that contains it")
      .required();
  command.option("lines", arguments.words, "lines to process; default: standard input");
  command.option("--plugin", arguments.plugin,
                 "plugin that reads the tokenizer, if the file name does not determine it");
  command.json("texts are JSON strings, which may contain line breaks");
  command.flag("--special", arguments.special, "add BOS and EOS, if the tokenizer has them");
  command.option("--bos-id", arguments.bos_id, "BOS id, instead of the one in the file");
  command.option("--eos-id", arguments.eos_id, "EOS id, instead of the one in the file");
  command.option("--pad-id", arguments.pad_id, "PAD id, instead of the one in the file");
}

void add_train_command(const Command& group) {
  const Command command = group.command("train", "train a small tokenizer on texts");
  TrainArguments& arguments = command.runs(train);
  command
      .option("--input", arguments.inputs,
              "text files with one text per line, or Lhotse cuts (.jsonl[.gz])")
      .required();
  command.option("--output", arguments.output, ".model or tokenizer.json file to write").required();
  command.force(arguments.force);
  command.option("--plugin", arguments.plugin,
                 "plugin that trains the tokenizer, if the file name does not determine it");
  command.option("--vocab-size", arguments.vocab_size, "maximum vocabulary size").shows_default();
  command.option("--model-type", arguments.model_type,
                 "type of a .model tokenizer: word (default), unigram, bpe or char");
  command.json("print the result as JSON");
}

}  // namespace

void setup_tokenizer(const Command& program) {
  const Command group =
      program.group("tokenizer", "encode, decode, render chats, and train tokenizers");
  add_code_command(group, "encode", "encode lines of text; prints one JSON list of ids per line",
                   encode);
  add_code_command(group, "decode",
                   "decode JSON lists of ids, one per line; prints one text per line", decode);
  add_chat_command(group);
  add_train_command(group);
}

}  // namespace s2s::run
