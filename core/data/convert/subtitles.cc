// Parses subtitles: SubRip (.srt) and WebVTT (.vtt).

#include <fmt/format.h>

#include <optional>
#include <sstream>

#include "base/text.h"
#include "convert/convert_errors.h"
#include "convert/transcript.h"

namespace s2s::convert {
namespace {

constexpr std::string_view kArrow = "-->";

std::string_view without_spaces(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

/// "01:02:03,400", "02:03.400" -> seconds.
std::optional<double> parse_time(std::string_view text) {
  double seconds = 0, unit = 0;  // `unit` is set after the comma
  int num_digits = 0, num_colons = 0;
  double part = 0;
  for (const char c : text) {
    if (c >= '0' && c <= '9') {
      ++num_digits;
      if (unit > 0) {
        seconds += (c - '0') * unit;
        unit /= 10;
      } else {
        part = part * 10 + (c - '0');
      }
    } else if (c == ':' && unit == 0 && num_digits > 0 && ++num_colons <= 2) {
      seconds = (seconds + part) * 60;
      part = 0;
    } else if ((c == ',' || c == '.') && unit == 0) {
      unit = 0.1;
    } else {
      return std::nullopt;
    }
  }
  if (num_digits == 0 || num_colons == 0 || num_digits > 18) return std::nullopt;
  return seconds + part;
}

struct Entity {
  std::string_view name, text;
};
constexpr Entity kEntities[] = {{"&amp;", "&"},  {"&lt;", "<"}, {"&gt;", ">"},
                                {"&nbsp;", " "}, {"&lrm;", ""}, {"&rlm;", ""}};

/// Returns the text without tags (<i>, <c.yellow>, <00:00:01.000>) and without SubRip's {\an8}. The
/// name of <v NAME> becomes the speaker.
std::string plain_text(std::string_view text, std::string& speaker) {
  std::string plain;
  for (size_t i = 0; i < text.size();) {
    const std::string_view rest = text.substr(i);
    const bool is_position = rest.starts_with("{\\");
    const size_t end = rest.find(is_position ? '}' : '>');
    if ((is_position || rest[0] == '<') && end != std::string_view::npos) {
      const std::string_view tag = rest.substr(1, end - 1);
      const size_t name = tag.find(' ');
      const bool is_voice = tag.starts_with("v ") || tag.starts_with("v.");
      if (is_voice && name != std::string_view::npos) {
        speaker = without_spaces(tag.substr(name));
      }
      i += end + 1;
      continue;
    }
    size_t taken = 0;
    for (const Entity& entity : kEntities) {
      if (taken == 0 && rest.starts_with(entity.name)) {
        plain += entity.text;
        taken = entity.name.size();
      }
    }
    if (taken == 0) plain += rest[0];
    i += std::max<size_t>(taken, 1);
  }
  return plain;
}

/// Parses "00:00:01,000 --> 00:00:02,500 align:start".
Spoken parse_times(std::string_view line, const std::string& place) {
  const size_t arrow = line.find(kArrow);
  const std::string_view begin = without_spaces(line.substr(0, arrow));
  std::string_view end = without_spaces(line.substr(arrow + kArrow.size()));
  end = end.substr(0, end.find_first_of(" \t"));
  const std::optional<double> start_s = parse_time(begin), end_s = parse_time(end);
  if (!start_s || !end_s) {
    throw convert_errors::transcript(place, fmt::format("the line is {}", line),
                                     "HH:MM:SS,mmm --> HH:MM:SS,mmm");
  }
  Spoken spoken;
  spoken.start_s = *start_s;
  spoken.end_s = *end_s;
  return spoken;
}

}  // namespace

std::vector<Spoken> parse_subtitles(const std::string& text, const std::string& path) {
  std::vector<Spoken> all;
  std::istringstream lines(text);
  int64_t number = 0;
  bool in_cue = false;  // until a blank line; lines before a time are numbers and notes
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::string_view content = without_spaces(line);
    if (content.empty()) {
      in_cue = false;
    } else if (!in_cue && content.find(kArrow) != std::string_view::npos) {
      all.push_back(parse_times(content, path + ":" + std::to_string(number)));
      in_cue = true;
    } else if (in_cue) {
      Spoken& spoken = all.back();
      const std::string plain(without_spaces(plain_text(content, spoken.speaker)));
      if (!plain.empty()) spoken.text += (spoken.text.empty() ? "" : " ") + plain;
    }
  }
  std::erase_if(all, [](const Spoken& spoken) { return spoken.text.empty(); });
  return all;
}

}  // namespace s2s::convert
