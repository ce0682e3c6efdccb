#pragma once
// Standard input, output and error of the program. `main` sets them up first.

#include <string>
#include <string_view>

namespace s2s {

/// Opens /dev/null as standard input, output or error if the program was started without it (cron,
/// some batch systems). Otherwise the next opened file, maybe a checkpoint, would become what
/// libraries use as standard error.
void open_standard_descriptors();

/// From now on, everything that printf, std::cout and fmt::print write to standard output is
/// escaped. Control characters other than newline and tab, line separators and direction marks
/// become \u001b and so on, which is also valid in JSON. Bytes that are not UTF-8 become \x9f. If
/// the reader has ended (EPIPE, EIO), output stops without an error.
void escape_standard_output();
/// Flushes standard output. Returns 0, or the errno of output that has been lost since the start (a
/// full disk). Concerns the copy of this file in which `escape_standard_output` was called.
int finish_standard_output();
/// Stops escaping unless standard output is a terminal: for commands whose output is data.
void write_standard_output_as_it_is();

/// Writes `text` as it is while `is_open`, and removes what was written from `text`. Waits for a
/// full pipe. Sets `is_open` to false if the reader has ended. Returns 0, or the errno of a
/// failure.
int write_standard_output(std::string_view& text, bool& is_open);

/// Escapes a text that arrives in parts, as `escape_standard_output` does.
class OutputEscaper {
 public:
  /// Returns `text` escaped. An incomplete character at its end is kept for the next call.
  std::string add(std::string_view text);
  /// Returns the escaped rest.
  std::string end();

 private:
  std::string held_;
};

}  // namespace s2s
