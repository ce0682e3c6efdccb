#pragma once
// The program's own input, output and error, as main sets them up before anything else.

#include <string>
#include <string_view>

namespace s2s {

/// Opens /dev/null in place of standard input, output and error where the program was started
/// without (cron, some batch systems): else the next file to be opened, maybe a checkpoint, would
/// be what libraries take for standard error.
void open_standard_descriptors();

/// From now on everything that printf, std::cout and fmt::print write to standard output is
/// escaped: control characters but for newlines and tabs, line separators and direction marks
/// become \u001b and so on, which JSON takes as well; bytes that are not UTF-8 become \x9f. A
/// reader that has gone away (EPIPE, EIO) ends the output, and is no error.
void escape_standard_output();
/// Writes what standard output still holds. 0, or the errno of what could not be written since the
/// start (a full disk). Of the copy of this file that `escape_standard_output` was called in.
int finish_standard_output();
/// Leaves standard output as it is when it is no terminal: for commands whose output is data.
void write_standard_output_as_it_is();

/// What `escape_standard_output` does, for a text that comes in parts.
class OutputEscaper {
 public:
  /// `text` escaped; what ends within a character is held back.
  std::string add(std::string_view text);
  /// What was held back, escaped.
  std::string end();

 private:
  std::string held_;
};

}  // namespace s2s
