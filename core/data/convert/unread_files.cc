#include "convert/unread_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <set>

#include "base/untrusted.h"
#include "convert/decoded_audio.h"
#include "convert/source_files.h"
#include "convert/transcript.h"
#include "s2s/foreign_text.h"

namespace s2s::convert {
namespace {

namespace fs = std::filesystem;

// Formats of phones, browsers, recorders and meetings.
constexpr std::array kOtherAudio = {".m4a", ".webm", ".mp4", ".aac", ".wma", ".mkv", ".mov",
                                    ".amr", ".3gp",  ".mka", ".m4b", ".avi", ".ac3", ".caf",
                                    ".oga", ".aif",  ".au",  ".snd", ".mp2"};
constexpr std::array kOtherText = {".lrc", ".sbv", ".ass", ".ssa",  ".eaf", ".trs", ".ctm", ".rttm",
                                   ".stm", ".csv", ".tsv", ".docx", ".odt", ".pdf", ".lab", ".xml"};

std::string ending_of_name(const std::string& path) {
  std::string ending = fs::path(path).extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return ending;
}

template <class Endings>
bool ends_as(const std::string& path, const Endings& endings) {
  return std::find(endings.begin(), endings.end(), ending_of_name(path)) != endings.end();
}

std::string stem_of(const std::string& path) { return fs::path(path).replace_extension().string(); }

/// Paths of recordings without their extensions.
class Recordings {
 public:
  void add(const std::string& path) { stems_.insert(stem_of(path)); }
  /// Whether a transcript has the name of a recording, or of a pair of recordings without the
  /// speaker.
  bool have_transcript(const std::string& path) const {
    const std::string stem = stem_of(path);
    for (auto at = stems_.lower_bound(stem); at != stems_.end() && at->starts_with(stem); ++at) {
      if (*at == stem) return find_transcript(stem + ".wav") == path;
      const bool is_pair = std::isalnum(static_cast<unsigned char>((*at)[stem.size()])) == 0 &&
                           at->find('/', stem.size()) == std::string::npos;
      if (is_pair) return true;
    }
    return false;
  }

 private:
  std::set<std::string> stems_;
};

}  // namespace

bool is_other_audio_name(const std::string& path) { return ends_as(path, kOtherAudio); }

std::string readable_command(const std::string& path) {
  return "ffmpeg -i '" + path + "' '" + stem_of(path) + ".wav'";
}

std::vector<std::string> unread_files(const std::string& folder, const ImportOptions& import) {
  std::vector<std::string> unread, texts;
  Recordings recordings;
  const auto options = fs::directory_options::follow_directory_symlink;
  for (const auto& entry : fs::recursive_directory_iterator(folder, options)) {
    const std::string path = entry.path().string();
    std::error_code ignored;
    if (!entry.is_regular_file(ignored) || entry.path().filename().string().starts_with(".")) {
      continue;
    }
    if (is_read(path, import)) {
      recordings.add(path);
    } else if (is_other_audio_name(path) || ends_as(path, kOtherText)) {
      unread.push_back(path);
    } else if (is_transcript_name(path)) {
      texts.push_back(path);
    }
  }
  for (const std::string& path : texts) {
    if (!recordings.have_transcript(path)) unread.push_back(path);
  }
  std::sort(unread.begin(), unread.end());
  return unread;
}

std::string unread_text(const std::vector<std::string>& files, const std::string& folder) {
  if (files.empty()) return "";
  constexpr size_t kShown = 5;
  std::string names;
  for (size_t i = 0; i < std::min(kShown, files.size()); ++i) {
    const std::string name = fs::path(files[i]).lexically_relative(folder).string();
    names += (i == 0 ? "" : ", ") + printable_name(name);
  }
  if (files.size() > kShown) names += fmt::format(" and {} more", files.size() - kShown);
  std::string text = fmt::format(
      "{} not read: {}",
      files.size() == 1 ? "1 file was" : fmt::format("{} files were", files.size()), names);
  const auto audio = std::find_if(files.begin(), files.end(), is_other_audio_name);
  if (audio != files.end()) {
    text += std::string("; recordings of these formats are read where ffmpeg is installed") +
            (is_untrusted() ? " (not with --untrusted)" : " (Debian: apt-get install ffmpeg)") +
            "; elsewhere, this makes one readable: " + printable(readable_command(*audio));
  }
  return text;
}

}  // namespace s2s::convert
