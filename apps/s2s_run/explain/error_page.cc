#include "s2s_run/explain/error_page.h"

#include <cctype>

namespace s2s::run {
namespace {

std::string_view next_line(std::string_view& page) {
  const size_t length = page.find('\n');
  const std::string_view line = page.substr(0, length);
  page.remove_prefix(length == std::string_view::npos ? page.size() : length + 1);
  return line;
}

/// "[runs.md](../start/runs.md)" becomes "runs.md". A link does not span lines.
std::string without_links(std::string_view line) {
  std::string out;
  while (!line.empty()) {
    const size_t begin = line.find('[');
    const size_t middle = line.find("](", begin == std::string_view::npos ? 0 : begin);
    const size_t end = line.find(')', middle == std::string_view::npos ? 0 : middle);
    if (begin == std::string_view::npos || middle == std::string_view::npos ||
        end == std::string_view::npos) {
      break;
    }
    out.append(line.substr(0, begin)).append(line.substr(begin + 1, middle - begin - 1));
    line.remove_prefix(end + 1);
  }
  return out.append(line);
}

/// The number after "Exit code ", or `otherwise`.
int exit_code_in(std::string_view line, int otherwise) {
  constexpr std::string_view kBegin = "Exit code ";
  const bool is_code = line.starts_with(kBegin) && line.size() > kBegin.size() &&
                       std::isdigit(static_cast<unsigned char>(line[kBegin.size()])) != 0;
  return is_code ? line[kBegin.size()] - '0' : otherwise;
}

/// An entry with an exit code of its own begins with it: "(3) ".
void take_exit_code(ErrorEntry& entry) {
  const std::string& text = entry.text;
  const bool has_code = text.size() > 4 && text[0] == '(' &&
                        std::isdigit(static_cast<unsigned char>(text[1])) != 0 && text[2] == ')';
  if (!has_code) return;
  entry.exit_code = text[1] - '0';
  entry.text.erase(0, 4);
}

void finish(std::vector<ErrorEntry>& open, std::vector<ErrorEntry>& entries) {
  for (ErrorEntry& entry : open) {
    while (entry.text.ends_with('\n')) entry.text.pop_back();
    take_exit_code(entry);
    entries.push_back(std::move(entry));
  }
  open.clear();
}

/// Several ids may share a section: "### a/b, a/c".
void begin_entries(std::string_view ids, const ErrorEntry& section, std::vector<ErrorEntry>& open) {
  const std::string heading(ids);
  while (!ids.empty()) {
    const size_t end = ids.find(", ");
    open.push_back(section);
    open.back().id = ids.substr(0, end);
    open.back().heading = heading;
    ids.remove_prefix(end == std::string_view::npos ? ids.size() : end + 2);
  }
}

}  // namespace

std::string ErrorEntry::cause() const {
  std::string line = text.substr(0, text.find("\n\n"));
  for (char& c : line) {
    if (c == '\n') c = ' ';
  }
  const size_t end = line.find(". ");
  return end == std::string::npos ? line : line.substr(0, end + 1);
}

std::vector<ErrorEntry> parse_error_page(std::string_view page) {
  std::vector<ErrorEntry> entries, open;
  ErrorEntry section;
  while (!page.empty()) {
    const std::string_view line = next_line(page);
    if (line.starts_with("## ")) {
      finish(open, entries);
      section.area = line.substr(3);
      section.exit_code = 1;
    } else if (line.starts_with("### ")) {
      finish(open, entries);
      begin_entries(line.substr(4), section, open);
    } else if (open.empty()) {
      section.exit_code = exit_code_in(line, section.exit_code);
    } else {
      for (ErrorEntry& entry : open) entry.text.append(without_links(line)) += '\n';
    }
  }
  finish(open, entries);
  return entries;
}

}  // namespace s2s::run
