#include "s2s_run/data/data_set_files.h"

#include <vector>

#include "s2s/error.h"
#include "s2s_run/data/data_inspect_source.h"
#include "text/text_files.h"
#include "text/text_paths.h"

namespace s2s::run {
namespace {

Error no_cuts_in_set(const std::string& path) {
  return Error(ExitCode::kData, "data/empty",
               path +
                   ": the set has no cuts; expected at least one; to see what its files contain: "
                   "s2s-run data inspect CONFIG --set " +
                   path.substr(path.rfind('.') + 1));
}

}  // namespace

void open_set_files(const std::string& path, const Config& block) {
  if (names_cuts(block)) {
    if (first_cut(block, path) == nullptr) throw no_cuts_in_set(path);
    return;
  }
  const Config* const name = block.find("name");
  const Config* const files = block.find("path");
  const bool is_text = name != nullptr && name->is_scalar() && name->text() == "text";
  if (!is_text || files == nullptr || files->is_null()) return;
  const std::vector<Config> one = {*files};
  for (const Config& file : files->is_list() ? files->items() : one) {
    const data::TextFiles opened(data::text_paths(file.as_string(path + ".path"), path),
                                 path + ".path");
  }
}

}  // namespace s2s::run
