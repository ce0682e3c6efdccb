#include "mimi_errors.h"

namespace s2s::mimi {

Error sizes_error(const std::string& path, const std::string& problem) {
  return config_error("codec/mimi-sizes",
                      path + ": " + problem + "\n  expected: the sizes of a config.json of Mimi");
}

Error kyutai_error(const std::string& path, const std::vector<std::string>& problems) {
  std::string list;
  for (const std::string& problem : problems) list += "\n  " + problem;
  return config_error("codec/mimi-weights",
                      "'" + path +
                          "' has Kyutai's names, but not the tensors of this "
                          "codec:" +
                          list +
                          "\n  expected: the sizes of these weights in "
                          "model.codec, by default those of the published Mimi");
}

std::string untrained(const std::string& path) {
  return "[codec/untrained] " + path +
         ".path: not set, so the codec has random weights and its audio is noise; expected a "
         "folder "
         "of Mimi, or of a Moshi or CSM that contains one";
}

}  // namespace s2s::mimi
