#include "convert/transcript.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "base/foreign_json.h"
#include "convert/convert_errors.h"
#include "s2s/foreign_text.h"

namespace s2s::convert {
namespace {

using nlohmann::json;

constexpr std::array kTextEndings = {".json", ".TextGrid", ".srt", ".vtt", ".txt"};
constexpr const char* kExpectedJson =
    "Moshi's 'alignments', Whisper's 'segments' or a 'text' (core/docs/guides/data_convert.md)";

[[noreturn]] void fail(const std::string& path, const std::string& where, const json& found,
                       const std::string& expected) {
  const std::string shown = found.dump(-1, ' ', false, json::error_handler_t::replace);
  throw convert_errors::transcript(path, where + " is " + shown, expected);
}

/// Parses Moshi's [word, [start, end], speaker].
Spoken alignment(const json& item, const std::string& path, size_t index) {
  const bool good = item.is_array() && item.size() >= 2 && item[0].is_string() &&
                    item[1].is_array() && item[1].size() == 2 && item[1][0].is_number() &&
                    item[1][1].is_number() && (item.size() < 3 || item[2].is_string());
  if (!good) {
    fail(path, "alignments[" + std::to_string(index) + "]", item,
         "[word, [start, end], speaker] with times in seconds");
  }
  return spoken_word(item.size() < 3 ? "" : item[2].get<std::string>(), item[0].get<std::string>(),
                     item[1][0].get<double>(), item[1][1].get<double>());
}

std::string text_at(const json& object, const char* name) {
  const auto it = object.find(name);
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

bool has_times(const json& object) {
  return object.is_object() && object.contains("start") && object.contains("end") &&
         object["start"].is_number() && object["end"].is_number();
}

/// Parses Whisper's word: "word" (or "text"), "start", "end". WhisperX has no times for numbers.
void add_word(const json& word, Spoken& segment) {
  if (!has_times(word)) return;
  const std::string text = word.contains("word") ? text_at(word, "word") : text_at(word, "text");
  const Spoken spoken = spoken_word("", text, word["start"], word["end"]);
  if (spoken.start_s < spoken.end_s) segment.words.push_back(spoken.words.front());
}

Spoken segment(const json& item, const std::string& path, size_t index) {
  if (!has_times(item)) {
    fail(path, "segments[" + std::to_string(index) + "]", item,
         "an object with 'start', 'end' (seconds) and 'text'");
  }
  Spoken spoken{text_at(item, "speaker"), item["start"], item["end"], text_at(item, "text"), {}};
  const auto words = item.find("words");
  if (words == item.end() || !words->is_array()) return spoken;
  for (const json& word : *words) add_word(word, spoken);
  return spoken;
}

template <class Make>
std::vector<Spoken> each(const json& list, const std::string& path, const char* name, Make make) {
  if (!list.is_array()) fail(path, name, list, "a list");
  std::vector<Spoken> spoken;
  for (size_t i = 0; i < list.size(); ++i) spoken.push_back(make(list[i], path, i));
  return spoken;
}

json parse(const std::string& text, const std::string& path) {
  try {
    return parse_foreign_json(text, kListsJson);
  } catch (const json::parse_error& error) {
    std::string reason = error.what();  // "[...] parse error at line 1, column 9: ..."
    const size_t at = reason.find("at line ");
    constexpr std::string_view kParserPrefix = "parse error: ";
    const size_t what = reason.find(kParserPrefix);
    if (at != std::string::npos) {
      reason = reason.substr(at);
    } else if (what != std::string::npos) {
      reason = "(" + reason.substr(what + kParserPrefix.size()) + ")";
    }
    throw convert_errors::transcript(path, "this is not JSON " + reason, kExpectedJson);
  }
}

Transcript read_json(const std::string& path, double audio_s) {
  const json file = parse(read_text(path), path);
  if (file.is_array()) return {each(file, path, "the list", segment), {}};
  if (!file.is_object()) fail(path, "the file", file, kExpectedJson);
  Transcript transcript;
  const auto conditions = file.find("text_conditions");
  if (conditions != file.end() && !conditions->is_null()) {
    transcript.text_conditions = JsonText{conditions->dump()};
  }
  if (file.contains("alignments")) {
    transcript.spoken = each(file["alignments"], path, "alignments", alignment);
  } else if (file.contains("segments")) {
    transcript.spoken = each(file["segments"], path, "segments", segment);
  } else if (file.contains("text") && file["text"].is_string()) {
    transcript.spoken = {{"", 0, audio_s, file["text"], {}}};
  } else {
    throw convert_errors::transcript(path, "no 'alignments', 'segments' or 'text'", kExpectedJson);
  }
  return transcript;
}

/// Parses "0.5\t1.25\thello"; false for other lines.
bool parse_label(const std::string& line, Spoken& spoken) {
  const size_t first = line.find('\t');
  const size_t second = first == std::string::npos ? first : line.find('\t', first + 1);
  if (second == std::string::npos) return false;
  const auto number = [&](size_t begin, size_t end, double& value) {
    const char* const stop = line.data() + end;
    const auto result = std::from_chars(line.data() + begin, stop, value);
    return result.ec == std::errc() && result.ptr == stop;
  };
  spoken.text = line.substr(second + 1);
  return number(0, first, spoken.start_s) && number(first + 1, second, spoken.end_s);
}

Transcript read_plain(const std::string& path, double audio_s) {
  const std::string text = read_text(path);
  std::istringstream lines(text);
  Transcript transcript;
  bool labels = true;
  for (std::string line; labels && std::getline(lines, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty()) continue;
    Spoken spoken;
    labels = parse_label(line, spoken);
    transcript.spoken.push_back(std::move(spoken));
  }
  if (labels) return transcript;
  std::string joined;
  std::istringstream words(text);
  for (std::string word; words >> word;) joined += (joined.empty() ? "" : " ") + word;
  return {{{"", 0, audio_s, joined, {}}}, {}};
}

}  // namespace

std::string read_text(const std::string& path) {
  try {
    return read_small_file(path, kSmallFileBytes);  // the words of a day are 8 MB
  } catch (const std::system_error& error) {
    throw convert_errors::missing(
        path, "a file of at most 64 MiB that can be read (" + error.code().message() + ")");
  }
}

bool is_transcript_name(const std::string& path) {
  return std::any_of(kTextEndings.begin(), kTextEndings.end(),
                     [&](const char* ending) { return path.ends_with(ending); });
}

std::optional<std::string> find_transcript(const std::string& audio_path) {
  for (const char* ending : kTextEndings) {
    const auto path = std::filesystem::path(audio_path).replace_extension(ending);
    std::error_code ignored;
    if (std::filesystem::is_regular_file(path, ignored)) return path.string();
  }
  return std::nullopt;
}

Transcript read_transcript(const std::string& path, double audio_s) {
  if (path.ends_with(".json")) return read_json(path, audio_s);
  if (path.ends_with(".srt") || path.ends_with(".vtt")) {
    return {parse_subtitles(read_text(path), path), {}};
  }
  if (path.ends_with(".TextGrid")) return {parse_text_grid(read_text(path), path), {}};
  return read_plain(path, audio_s);
}

}  // namespace s2s::convert
