#include "plugin/plugin_errors.h"

#include <algorithm>

#include "base/text.h"

namespace s2s {

namespace {

Error plugin_error(const char* id, const std::string& message) {
  return Error(ExitCode::kPlugin, id, message);
}

std::string file_line(const std::string& file) { return "\n  file:      " + file; }

std::string padded(const std::string& text, size_t width) {
  return text + std::string(text.size() < width ? width - text.size() : 1, ' ');
}

}  // namespace

Error unreadable_error(const std::string& file, const std::string& reason) {
  return plugin_error("plugin/unreadable", "cannot read " + file + ": " + reason);
}

Error not_elf_error(const std::string& file, const std::string& reason) {
  return plugin_error("plugin/not-elf",
                      file + " is not a shared object for this machine: " + reason);
}

Error truncated_error(const std::string& file, const char* what, uint64_t offset, uint64_t size,
                      uint64_t file_size) {
  return plugin_error("plugin/truncated", file + " is truncated or damaged: " + what +
                                              " should be " + std::to_string(size) +
                                              " bytes at offset " + std::to_string(offset) +
                                              ", the file has " + std::to_string(file_size) +
                                              "\n  build or copy it again");
}

Error no_note_error(const std::string& file) {
  return plugin_error("plugin/no-note",
                      file +
                          " is a shared object without an s2s note (section .s2s_plugin)\n"
                          "  write S2S_PLUGIN(...) (s2s/plugin.h) in the plugin's source and build "
                          "it with s2s_add_plugin");
}

Error magic_error(const std::string& file) {
  return plugin_error("plugin/magic",
                      file +
                          " is not an s2s plugin: its section .s2s_plugin does not "
                          "start with S2SPLUG\n  write the note with S2S_PLUGIN(...) "
                          "(s2s/plugin.h) only");
}

Error note_size_error(const std::string& file, const PluginNote& note, uint64_t section_size) {
  return plugin_error("plugin/note-size",
                      "the plugin note of " + file + " says " + std::to_string(note.size) +
                          " bytes in a section of " + std::to_string(section_size) + ", expected " +
                          std::to_string(sizeof(PluginNote)) + " (its api is " +
                          std::to_string(note.api) + ", this s2s-run's " +
                          std::to_string(S2S_PLUGIN_API) + ")\n  rebuild it against this SDK");
}

Error fields_error(const std::string& file, const std::vector<std::string>& findings) {
  return plugin_error("plugin/fields",
                      "the plugin note of " + file + " is incomplete: " + joined(findings, "; ") +
                          "\n  correct S2S_PLUGIN(name, version, license, provides)");
}

Error abi_error(const std::string& file, const PluginFacts& facts,
                const std::vector<AbiDifference>& differences) {
  size_t width = sizeof("plugin");
  for (const AbiDifference& row : differences) width = std::max(width, row.plugin.size() + 2);
  std::string text =
      "plugin '" + facts.name + "' was built for another ABI and was not loaded" + file_line(file);
  text += "\n  field      " + padded("plugin", width) + "this s2s-run";
  for (const AbiDifference& row : differences) {
    text += "\n  " + padded(row.field, 11) + padded(row.plugin, width) + row.host;
  }
  text +=
      "\n  rebuild it against this SDK:  cmake -B build -DCMAKE_PREFIX_PATH=<where s2s is "
      "installed> && cmake --build build";
  return plugin_error("plugin/abi", text);
}

Error directory_error(const std::string& directory, const std::string& origin,
                      const std::string& reason) {
  return plugin_error(
      "plugin/directory",
      "cannot search '" + directory + "' (" + origin + ") for plugins: " + reason +
          ", expected a folder\n"
          "  to load a single file, write plugins.load: [file.so] in the configuration");
}

Error file_error(const std::string& file, const std::vector<std::string>& tried) {
  return plugin_error("plugin/file", "no plugin file '" + file + "'; tried " + joined(tried, ", "));
}

Error duplicate_error(const ComponentId& id, const std::string& directory,
                      const std::vector<std::string>& files) {
  return plugin_error("plugin/duplicate",
                      id.kind + " '" + id.name + "' is provided twice in " + directory + ": " +
                          joined(files, ", ") +
                          "\n"
                          "  remove one, or move it to another directory of the search path; the "
                          "first directory on the path takes precedence");
}

Error unknown_error(const UnknownName& unknown) {
  std::string text = "no " + unknown.id.kind + " named '" + unknown.id.name + "'";
  if (!unknown.place.empty()) text += " (" + unknown.place + ")";
  const std::string nearest = nearest_name(unknown.id.name, unknown.available);
  if (!nearest.empty()) text += "\n  did you mean '" + nearest + "'?";
  if (!unknown.other_kinds.empty()) {
    text += "\n  this name exists for kind " + joined(unknown.other_kinds, ", ");
  }
  text +=
      "\n  available: " + (unknown.available.empty() ? "none" : joined(unknown.available, ", "));
  text += "\n  searched:  " + joined(unknown.searched, ", ");
  text += "\n  see:       s2s-run plugin list --kind " + unknown.id.kind;
  return plugin_error("plugin/unknown", text);
}

Error model_type_error(const std::string& model_type, const std::vector<std::string>& readers,
                       const std::string& place) {
  std::string text = "several language models read the model_type '" + model_type + "'";
  if (!place.empty()) text += " (" + place + ")";
  return plugin_error("plugin/model-type", text + "\n  found:     " + joined(readers, ", ") +
                                               "\n  next:      write one of these names instead");
}

Error unknown_plugin_error(const std::string& name, const std::vector<std::string>& available) {
  std::string text = "no component or plugin named '" + name + "'";
  const std::string nearest = nearest_name(name, available);
  if (!nearest.empty()) text += "\n  did you mean '" + nearest + "'?";
  return plugin_error("plugin/unknown", text + "\n  see:       s2s-run plugin list");
}

Error unknown_kind_error(const std::string& kind) {
  const std::vector<std::string> kinds = kind_names();
  std::string text = "there is no kind '" + kind + "'";
  const std::string nearest = nearest_name(kind, kinds);
  if (!nearest.empty()) text += "; did you mean '" + nearest + "'?";
  return Error(ExitCode::kUsage, "plugin/kind", text + "\n  kinds:     " + joined(kinds, ", "));
}

Error symbols_error(const std::string& file, const std::string& plugin, const std::string& symbol) {
  return plugin_error("plugin/symbols",
                      "plugin '" + plugin + "' needs a symbol that nothing provides: " + symbol +
                          file_line(file) +
                          "\n"
                          "  the plugin was probably compiled against other headers, or is not "
                          "linked to a library (-Wl,-z,defs detects this at build time)");
}

Error load_error(const std::string& file, const std::string& plugin, const std::string& reason) {
  return plugin_error("plugin/load", "plugin '" + plugin + "' could not be loaded: " + reason +
                                         file_line(file) + "\n  see:       ldd " + file);
}

Error entry_error(const std::string& file, const std::string& plugin) {
  return plugin_error("plugin/entry",
                      "plugin '" + plugin + "' has a note but no function s2s_plugin_register" +
                          file_line(file) +
                          "\n  write both with S2S_PLUGIN(...) { ... } and build with "
                          "s2s_add_plugin");
}

Error threw_error(const std::string& file, const std::string& plugin, const std::string& what) {
  return plugin_error("plugin/threw", "plugin '" + plugin + "' threw while registering: " + what +
                                          file_line(file) + "\n  function:  s2s_plugin_register");
}

Error provides_error(const std::string& file, const std::string& plugin,
                     const std::vector<ComponentId>& not_registered,
                     const std::vector<ComponentId>& not_declared) {
  std::string text = "plugin '" + plugin + "' ";
  if (!not_registered.empty()) {
    text += "declares " + join_ids(not_registered) + " but does not register it";
    if (!not_declared.empty()) text += ", and ";
  }
  if (!not_declared.empty()) {
    text += "registers " + join_ids(not_declared) + " without declaring it";
  }
  text += file_line(file);
  text += "\n  make the last argument of S2S_PLUGIN and the calls of registrar.add agree";
  return plugin_error("plugin/provides", text);
}

Error duplicate_name_error(const ComponentId& id) {
  return plugin_error("plugin/duplicate-name",
                      id.kind + " '" + id.name + "' is already registered; names must be unique");
}

Error new_kind_error(const std::string& kind, const std::vector<std::string>& known,
                     const std::string& folder) {
  return plugin_error("plugin/new-kind", "there is no template for the kind '" + kind + "' in " +
                                             folder + "\n  expected: one of " +
                                             joined(known, ", "));
}

Error new_name_error(const std::string& name) {
  return plugin_error("plugin/new-name",
                      "'" + name +
                          "' is not a valid name for a plugin outside this repository\n"
                          "  expected: vendor.name, both of a-z, 0-9 and _ and not starting with a "
                          "digit, for example acme.mistral");
}

Error component_error(const std::vector<std::string>& findings) {
  return plugin_error("plugin/options", joined(findings, "\n  "));
}

Error promises_error(const std::vector<std::string>& findings) {
  return plugin_error("plugin/promises", joined(findings, "\n  "));
}

Error crashed_error(const std::string& file, const std::string& how, const std::string& doing) {
  return plugin_error("plugin/crashed", how + " while " + doing + file_line(file));
}

}  // namespace s2s
