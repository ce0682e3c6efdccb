#include "pocketsphinx_errors.h"

namespace s2s::pocketsphinx {

Error program_missing(const std::string& program) {
  return {ExitCode::kPlugin, "scorer/program",
          "the scorer needs the program '" + program +
              "', which was not found\n  apt-get install pocketsphinx pocketsphinx-en-us"};
}

Error model_missing(const std::string& path) {
  return {ExitCode::kPlugin, "scorer/model",
          "the scorer's acoustic model or dictionary was not found: " + path +
              "\n  apt-get install pocketsphinx-en-us, or set the option 'model' to the folder "
              "that contains en-us and cmudict-en-us.dict"};
}

Error nothing_to_expect() {
  return {ExitCode::kData, "scorer/no-texts",
          "no agent text contains a word of the scorer's dictionary; expected texts in English "
          "for its language model; add texts to the agent turns of the data set"};
}

Error program_failed(const std::string& program, const std::string& status,
                     const std::string& log_end) {
  return {ExitCode::kCheckFailed, "scorer/failed",
          program + " " + status + "; the end of its log:\n" + log_end};
}

Error cannot_write(const std::string& path, const std::string& reason) {
  return {ExitCode::kData, "scorer/write",
          path + ": " + reason + "\n  set TMPDIR to a folder with free space"};
}

}  // namespace s2s::pocketsphinx
