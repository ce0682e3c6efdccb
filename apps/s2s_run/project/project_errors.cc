#include "s2s_run/project/project_errors.h"

namespace s2s::run {

Error project_name_error(const std::string& project) {
  return {ExitCode::kUsage, "project/name",
          "s2s-run new: '" + project +
              "' does not end in a name for a project\n  expected:  letters, digits, '_', '.' and "
              "'-', the first one a letter, a digit or '_'\n  next:      choose another name, for "
              "instance my-project"};
}

Error project_exists_error(const std::string& folder) {
  return {ExitCode::kData, "project/exists",
          "s2s-run new: '" + folder +
              "' is there already, and nothing was written\n  expected:  a folder that does not "
              "exist\n  next:      choose another name, or move this one away"};
}

Error project_write_error(const std::string& path, const std::string& reason) {
  return {ExitCode::kData, "project/write",
          "s2s-run new: cannot make '" + path + "': " + reason +
              "; what was written so far has been removed\n  expected:  a folder that you may "
              "write to, with 20 MB of free space\n  next:      choose another place"};
}

}  // namespace s2s::run
