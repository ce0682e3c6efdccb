#include "base/io_errors.h"

#include <cerrno>
#include <cstring>

namespace s2s {

namespace {

std::string next_step(int error_number) {
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
      return "; free some space and run again, nothing that was there before is lost";
    case EACCES:
    case EPERM:
    case EROFS:
      return "; choose a folder that you may write to";
    case ENOENT:
    case ENOTDIR:
      return "; make its folder first";
    default:
      return "; nothing that was there before is lost";
  }
}

}  // namespace

Error write_error(const std::string& path, const std::string& action, int error_number) {
  return {ExitCode::kData, "io/write",
          path + ": " + action + ": " + std::strerror(error_number) + next_step(error_number)};
}

}  // namespace s2s
