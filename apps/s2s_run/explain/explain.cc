// s2s-run explain ID: an error at length. Needs no LibTorch, so it also explains why LibTorch
// cannot be loaded.

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string_view>

#include "s2s/error.h"
#include "s2s_run/columns.h"
#include "s2s_run/explain/error_page.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {
namespace {

using nlohmann::ordered_json;

struct ExplainArguments {
  std::vector<std::string> words;
};

Error unknown_id_error(const std::string& text, const std::vector<ErrorEntry>& entries) {
  std::vector<std::string> ids;
  for (const ErrorEntry& entry : entries) ids.push_back(entry.id);
  const std::string nearest = nearest_name(text, ids);
  return {ExitCode::kUsage, "usage/arguments",
          "s2s-run explain: '" + text + "' is no error id" +
              (nearest.empty() ? "" : "\n  did you mean '" + nearest + "'?") +
              "\n  expected:  an id such as config/type, an area such as config, or a message\n"
              "  see:       s2s-run explain, which lists all ids"};
}

/// The id in a message: "error: [config/type] ..." or "[config/type]"; the text itself otherwise.
std::string id_in(const std::string& text) {
  const size_t begin = text.find('[');
  const size_t end = text.find(']', begin == std::string::npos ? 0 : begin);
  const bool has_id = begin != std::string::npos && end != std::string::npos;
  return has_id ? text.substr(begin + 1, end - begin - 1) : text;
}

/// The entries that are meant: one id, or all of an area.
std::vector<ErrorEntry> chosen(const std::vector<std::string>& words,
                               const std::vector<ErrorEntry>& all) {
  if (words.empty()) return all;
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  const std::string id = id_in(text);
  std::vector<ErrorEntry> found;
  for (const ErrorEntry& entry : all) {
    if (entry.id == id || entry.id.starts_with(id + "/")) found.push_back(entry);
  }
  if (found.empty()) throw unknown_id_error(id, all);
  return found;
}

/// The lines of a paragraph filled anew, because links took a part of their width. Lists, tables
/// and code stay.
std::string filled(const std::string& text) {
  constexpr size_t kWidth = 80;
  std::istringstream lines(text);
  std::string out;
  size_t column = 0;  // 0: no open paragraph
  bool is_code = false;
  for (std::string line; std::getline(lines, line);) {
    const bool is_fence = line.starts_with("```");
    const bool is_plain = !is_code && !is_fence && !line.empty() &&
                          std::string_view("-| #").find(line[0]) == std::string_view::npos;
    is_code = is_code != is_fence;
    if (!is_plain) {
      out += (column > 0 ? "\n" : "") + line + "\n";
      column = 0;
      continue;
    }
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      const bool fits = column + 1 + word.size() <= kWidth;
      if (column > 0) out += fits ? " " : "\n";
      column = column > 0 && fits ? column + 1 + word.size() : word.size();
      out += word;
    }
  }
  return out;
}

void print_entry(const ErrorEntry& entry) {
  // As pages of Markdown make it from a heading, which may name several ids.
  std::string page_anchor;
  for (const char c : entry.heading) {
    if (c == ' ') page_anchor += '-';
    if (c != '/' && c != ',' && c != ' ') page_anchor += c;
  }
  std::printf("[%s]  %s, exit code %d\n\n%s\n\nsee: core/docs/reference/errors.md#%s\n",
              entry.id.c_str(), entry.area.c_str(), entry.exit_code, filled(entry.text).c_str(),
              page_anchor.c_str());
}

int explain(const ExplainArguments& arguments, const Invocation& invocation) {
  const std::vector<ErrorEntry> entries =
      chosen(arguments.words, parse_error_page(error_page("errors.md")));
  if (invocation.json) {
    ordered_json out = ordered_json::array();
    for (const ErrorEntry& entry : entries) {
      out.push_back({{"id", entry.id},
                     {"area", entry.area},
                     {"exit_code", entry.exit_code},
                     {"text", entry.text}});
    }
    std::printf("%s\n", out.dump(2).c_str());
  } else if (entries.size() == 1) {
    print_entry(entries.front());
  } else {
    std::vector<std::vector<std::string>> rows = {{"id", "exit code", "cause"}};
    for (const ErrorEntry& entry : entries) {
      rows.push_back({entry.id, std::to_string(entry.exit_code), entry.cause()});
    }
    print_columns(rows);
    std::printf("%zu ids; s2s-run explain ID explains one\n", entries.size());
  }
  return 0;
}

}  // namespace

void setup_explain(const Command& program) {
  const Command command =
      program.command("explain", "explain an error id: what happened, and what to do");
  command.option("id", command.runs(explain).words,
                 "an id (config/type), an area (config), or a message with an id; without, all "
                 "ids are listed");
  command.json("print one JSON list");
}

}  // namespace s2s::run
