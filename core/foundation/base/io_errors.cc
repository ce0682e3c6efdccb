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
      return "; free some space and run again; no existing file was changed";
    case EACCES:
    case EPERM:
    case EROFS:
      return "; choose a folder with write permission";
    case ENOENT:
      return "; create its folder first";
    case ENOTDIR:
      return "; a component of the path is a file, not a folder; choose another path";
    default:
      return "; no existing file was changed";
  }
}

}  // namespace

Error write_error(const std::string& path, const std::string& action, int error_number) {
  return {ExitCode::kData, "io/write",
          path + ": " + action + ": " + std::strerror(error_number) + next_step(error_number)};
}

std::string exists_text(const std::string& path) {
  return "'" + path +
         "' already exists; nothing was written; choose another path, or overwrite it with --force";
}

Error exists_error(const std::string& path) {
  return {ExitCode::kData, "io/exists", exists_text(path)};
}

Error read_error(const std::string& path, int error_number) {
  return {ExitCode::kData, "io/read",
          path + ": cannot be read: " + std::strerror(error_number) +
              "\n"
              "  next:      check the disk, the network and the limits, then run again; nothing "
              "was changed. If the file cannot be recovered, move it away"};
}

Error line_error(const std::string& path, size_t at, size_t max_bytes) {
  return {ExitCode::kData, "io/line",
          path + ": no line break in more than " + std::to_string(max_bytes) + " bytes from byte " +
              std::to_string(at) +
              " on\n"
              "  expected:  a file of lines, without a hole\n"
              "  next:      restore the file from a copy, or move it away"};
}

bool says_no_file(int error_number) {
  constexpr std::array kCodes = {ENOENT, ENOTDIR, EISDIR, EINVAL, EFBIG, ELOOP, ENAMETOOLONG};
  return std::find(kCodes.begin(), kCodes.end(), error_number) != kCodes.end();
}

}  // namespace s2s
