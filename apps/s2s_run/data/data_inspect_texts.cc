#include "s2s_run/data/data_inspect_texts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/foreign_json.h"
#include "base/text.h"
#include "files/line_reader.h"
#include "s2s/foreign_text.h"
#include "s2s_run/data/equal_findings.h"
#include "s2s_run/tokenizer/label_marks.h"
#include "s2s_run/tokenizer/tokenizer_file.h"
#include "text/document_encoder.h"
#include "text/text_files.h"
#include "text/text_line.h"

namespace s2s::run {
namespace {

using data::TextLine;

constexpr const char* kTextKeys[] = {"messages",    "conversations", "text",  "prompt",
                                     "instruction", "completion",    "query", "question"};
constexpr const char* kAudioKeys[] = {"recording", "supervisions", "tracks",  "audio_filepath",
                                      "features",  "duration",     "shard_id"};

/// Characters, not bytes.
int64_t num_characters(const std::string& text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
}

/// What a set of texts contains.
struct TextReport {
  std::map<TextLine::Form, int64_t> forms;
  std::map<std::string, int64_t> roles;
  std::vector<int64_t> lengths;  // in tokens, else in characters; sorted at the end
  int64_t labels = 0, without_labels = 0;
  bool has_tokens = false;
  EqualFindings findings;

  int64_t total() const {
    int64_t sum = 0;
    for (const int64_t length : lengths) sum += length;
    return sum;
  }
  int64_t length_at(double part) const {
    return lengths.empty()
               ? 0
               : lengths[static_cast<size_t>(part * static_cast<double>(lengths.size() - 1))];
  }
  const char* unit() const { return has_tokens ? "tokens" : "characters"; }
};

const char* form_name(TextLine::Form form) {
  if (form == TextLine::Form::kChat) return "chats";
  return form == TextLine::Form::kPair ? "prompts with responses" : "texts";
}

void count_roles(const TextLine& line, TextReport& report) {
  if (line.form != TextLine::Form::kChat) return;
  for (const jinja::Value& message : line.messages.items()->items) {
    ++report.roles[message.dict()->find(std::string_view("role"))->text()->bytes()];
  }
}

/// A document of a set, with its tokens where there is a tokenizer.
void add_document(const std::string& json, const data::LineOrigin& origin,
                  const data::DocumentEncoder* encoder, TextReport& report) {
  const TextLine line =
      data::parse_text_line(json, data::DocumentOptions(), origin.file, origin.line);
  int64_t length = 0;
  if (encoder != nullptr) {
    const data::TokenDocument document = encoder->encode(json, origin);
    const auto labels = std::count(document.is_label.begin(), document.is_label.end(), true);
    report.labels += labels;
    report.without_labels += labels == 0 ? 1 : 0;
    length = document.size();
  } else if (line.form == TextLine::Form::kChat) {
    for (const jinja::Value& message : line.messages.items()->items) {
      const jinja::Value* content = message.dict()->find(std::string_view("content"));
      if (content != nullptr && content->is_text()) {
        length += num_characters(content->text()->bytes());
      }
    }
  } else {
    length = num_characters(line.text) + num_characters(line.response);
  }
  ++report.forms[line.form];
  count_roles(line, report);
  report.lengths.push_back(length);
}

void print_report(const TextReport& report) {
  fmt::print("{}, {} {}\n", counted(static_cast<int64_t>(report.lengths.size()), "document"),
             report.total(), report.unit());
  std::vector<std::string> forms, roles;
  for (const auto& [form, count] : report.forms) {
    forms.push_back(fmt::format("{} {}", count, form_name(form)));
  }
  for (const auto& [role, count] : report.roles) {
    roles.push_back(fmt::format("{} {}", count, printable(role)));
  }
  fmt::print("forms: {}\n", fmt::join(forms, ", "));
  if (!roles.empty()) fmt::print("messages: {}\n", fmt::join(roles, ", "));
  fmt::print("{} of a document: {} to {}, median {}\n", report.unit(), report.length_at(0),
             report.length_at(1), report.length_at(0.5));
  if (report.has_tokens) {
    fmt::print("labels (labels: response): {} ({:.1f} % of the tokens); {} have none\n",
               report.labels,
               100.0 * static_cast<double>(report.labels) /
                   static_cast<double>(std::max<int64_t>(1, report.total())),
               counted(report.without_labels, "document"));
  } else {
    fmt::print("add --tokenizer PATH to count tokens and labels, and --batch N to see them\n");
  }
  for (const std::string& line : report.findings.lines()) fmt::print("finding: {}\n", line);
}

void print_report_json(const TextReport& report) {
  nlohmann::ordered_json out = {{"documents", report.lengths.size()},
                                {"chats", 0},
                                {"prompts_with_responses", 0},
                                {"texts", 0},
                                {"messages", report.roles},
                                {"unit", report.unit()},
                                {"total", report.total()},
                                {"shortest", report.length_at(0)},
                                {"median", report.length_at(0.5)},
                                {"longest", report.length_at(1)}};
  for (const auto& [form, count] : report.forms) {
    std::string key = form_name(form);
    std::replace(key.begin(), key.end(), ' ', '_');
    out[key] = count;
  }
  if (report.has_tokens) {
    out["labels"] = report.labels;
    out["documents_without_labels"] = report.without_labels;
  }
  out["findings"] = report.findings.json();
  std::printf("%s\n",
              out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace).c_str());
}

/// Files of lines are not opened as such for it: that would read all of a large file of cuts.
std::string first_object(const std::string& path) {
  data::LineReader reader(path);
  for (std::string line; reader.next(line);) {
    if (is_blank_line(line)) continue;
    if (try_parse_foreign_json(line).is_object()) return line;
    break;
  }
  try {
    const data::TextFiles files({path});  // an array, or objects over several lines
    return files.size() > 0 ? files.line(0) : "";
  } catch (const Error&) {
    return "";  // whoever reads the file says what is wrong with it
  }
}

}  // namespace

bool are_texts(const std::vector<std::string>& files) {
  const std::string& path = files.front();
  if (!std::filesystem::is_regular_file(path)) return false;
  const bool is_json = path.ends_with(".jsonl") || path.ends_with(".json") ||
                       path.ends_with(".jsonl.gz") || path.ends_with(".json.gz");
  if (!is_json) return false;
  const auto object = try_parse_foreign_json(first_object(path));
  if (!object.is_object()) return false;
  const auto has = [&](const char* key) { return object.contains(key); };
  return std::any_of(std::begin(kTextKeys), std::end(kTextKeys), has) &&
         std::none_of(std::begin(kAudioKeys), std::end(kAudioKeys), has);
}

int inspect_texts(const InspectArguments& arguments, const Invocation& invocation) {
  if (arguments.batch > 0 && arguments.tokenizer.empty()) {
    throw Error(ExitCode::kUsage, "usage/arguments",
                "data inspect: --batch shows the tokens of texts, and needs --tokenizer PATH\n"
                "  see:       s2s-run data inspect --help");
  }
  std::optional<TokenizerFile> tokenizer;
  std::optional<data::DocumentEncoder> encoder;
  data::DocumentOptions options;
  options.labels = "response";
  if (!arguments.tokenizer.empty()) {
    tokenizer.emplace(invocation, arguments.tokenizer);
    encoder.emplace(options, **tokenizer, "data inspect", ".");
  }
  const data::TextFiles files(arguments.source.words);
  TextReport report;
  report.has_tokens = encoder.has_value();
  const int64_t most = arguments.batch > 0 ? arguments.batch : arguments.limit;
  int64_t num_read = 0;
  for (int64_t number = 0; number < files.size() && (most == 0 || num_read < most); ++number) {
    const std::string line = files.line(number);
    if (is_blank_line(line)) continue;
    ++num_read;
    const data::LineOrigin origin = files.origin(number);
    try {
      if (arguments.batch > 0) {
        const data::TokenDocument document = encoder->encode(line, origin);
        fmt::print("{}: {}\n{}\n", printable_name(origin.text()), counted(document.size(), "token"),
                   with_label_marks(document.ids, document.is_label, **tokenizer));
      } else {
        add_document(line, origin, encoder ? &*encoder : nullptr, report);
      }
    } catch (const Error& error) {
      if (error.id() == "data/chat-template-stopped") throw;
      report.findings.add(error, origin.text());
      if (report.findings.total() == EqualFindings::kEnough) break;
    }
  }
  std::sort(report.lengths.begin(), report.lengths.end());
  if (arguments.batch > 0) {
    for (const std::string& line : report.findings.lines()) fmt::print("finding: {}\n", line);
  } else if (invocation.json) {
    print_report_json(report);
  } else {
    print_report(report);
  }
  return static_cast<int>(report.findings.empty() ? ExitCode::kOk : ExitCode::kCheckFailed);
}

}  // namespace s2s::run
