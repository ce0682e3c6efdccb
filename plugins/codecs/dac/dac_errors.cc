#include "dac_errors.h"

namespace s2s::dac {

Error sizes_error(const std::string& path, const std::string& problem) {
  return config_error("codec/dac-sizes",
                      path + ": " + problem + "\n  expected: the sizes of a config.json of DAC");
}

std::string untrained(const std::string& path) {
  return "[codec/untrained] " + path +
         ".path: not set, so the codec has random weights and its audio is noise; expected a "
         "folder "
         "of DAC";
}

}  // namespace s2s::dac
