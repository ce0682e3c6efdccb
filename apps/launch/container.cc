#include "launch/container.h"

#include "base/text.h"

namespace s2s::launch {
namespace {

using Words = std::vector<std::string>;

void add_each(Words& words, const std::string& option, const Words& values) {
  for (const std::string& value : values) words.insert(words.end(), {option, value});
}

Words names_in(const Words& assignments) {
  Words names;
  for (const std::string& one : assignments) names.push_back(one.substr(0, one.find('=')));
  return names;
}

Words apptainer_words(const Container& container) {
  Words words = {container.kind, "exec"};
  if (container.has_gpus) words.emplace_back("--nv");
  if (!container.home.empty()) words.insert(words.end(), {"--home", container.home});
  add_each(words, "--bind", container.binds);
  if (!container.folder.empty()) words.insert(words.end(), {"--pwd", container.folder});
  words.push_back(container.image);
  return words;
}

/// enroot has no option for the folder; a shell in the container changes to it.
Words enroot_words(const Container& container) {
  Words words = {"enroot", "start", "--rw"};
  add_each(words, "--mount", container.binds);
  if (!container.home.empty()) words.insert(words.end(), {"--mount", container.home});
  add_each(words, "--env", names_in(container.environment));
  words.push_back(container.image);
  if (!container.folder.empty()) {
    words.insert(words.end(), {"sh", "-c", "cd \"$0\" && exec \"$@\"", container.folder});
  }
  return words;
}

}  // namespace

Words exported_for_container(const Container& container) {
  if (container.image.empty()) return {};
  std::string prefix;
  if (container.kind == "apptainer") prefix = "APPTAINERENV_";
  if (container.kind == "singularity") prefix = "SINGULARITYENV_";
  Words out;
  for (const std::string& one : container.environment) out.push_back(prefix + one);
  return out;
}

Words container_words(const Container& container) {
  if (container.image.empty() || container.kind == "pyxis") return {};
  return container.kind == "enroot" ? enroot_words(container) : apptainer_words(container);
}

Words srun_container_words(const Container& container) {
  if (container.image.empty() || container.kind != "pyxis") return {};
  Words words = {"--container-image=" + container.image};
  Words mounts = container.binds;
  if (!container.home.empty()) mounts.push_back(container.home);
  if (!mounts.empty()) words.push_back("--container-mounts=" + joined(mounts, ","));
  if (!container.folder.empty()) words.push_back("--container-workdir=" + container.folder);
  const Words names = names_in(container.environment);
  if (!names.empty()) words.push_back("--container-env=" + joined(names, ","));
  return words;
}

}  // namespace s2s::launch
