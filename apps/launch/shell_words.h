#pragma once
// Words of a command line as a POSIX shell reads them.

#include <string>
#include <vector>

namespace s2s::launch {

/// `word` in single quotes, or as it is when a shell reads it as one word.
std::string shell_word(const std::string& word);
/// The words, quoted, with spaces between them.
std::string shell_words(const std::vector<std::string>& words);

/// The position of the `=` of NAME=VALUE; std::string::npos when NAME is no name of a variable.
size_t assignment(const std::string& text);

/// What shell_words has made, for a comment of a bash script: a line break inside of a word would
/// end the comment, and is written as $'\n'.
std::string in_comment(const std::string& words);

}  // namespace s2s::launch
