#include "base/io_errors.h"

#include <algorithm>
#include <array>
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
      return "; make its folder first";
    case ENOTDIR:
      return "; a part of the path is a file, where a folder is expected: name another place";
    default:
      return "; nothing that was there before is lost";
  }
}

}  // namespace

Error write_error(const std::string& path, const std::string& action, int error_number) {
  return {ExitCode::kData, "io/write",
          path + ": " + action + ": " + std::strerror(error_number) + next_step(error_number)};
}

std::string exists_text(const std::string& path) {
  return "'" + path +
         "' is there already, and nothing was written; name another place, or write over it with "
         "--force";
}

Error exists_error(const std::string& path) {
  return {ExitCode::kData, "io/exists", exists_text(path)};
}

Error read_error(const std::string& path, int error_number) {
  return {ExitCode::kData, "io/read",
          path + ": cannot be read: " + std::strerror(error_number) +
              "\n  next:      run again when the disk, the network or the limit that stops it is "
              "in order; nothing was changed. If it will not come back, move it away"};
}

bool says_no_file(int error_number) {
  constexpr std::array kCodes = {ENOENT, ENOTDIR, EISDIR, EINVAL, EFBIG, ELOOP, ENAMETOOLONG};
  return std::find(kCodes.begin(), kCodes.end(), error_number) != kCodes.end();
}

}  // namespace s2s
