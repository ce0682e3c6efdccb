#pragma once
// Pronunciations of the words that can be heard.

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace s2s::pocketsphinx {

/// Lower case; letters and apostrophes make words, everything else parts them.
std::vector<std::string> words_of(const std::string& text);

struct Dictionary {
  std::string lines;            // of the words that were asked for, in the file's format
  std::set<std::string> words;  // those that the file knows
};
/// Reads the entries of `wanted` from a dictionary in CMU's format.
/// Errors: [scorer/model].
Dictionary read_dictionary(const std::filesystem::path& path, const std::set<std::string>& wanted);

}  // namespace s2s::pocketsphinx
