#include "plugin/plugin_loader.h"

#define BOOST_DLL_USE_STD_FS
#include <c10/util/hash.h>
#include <cxxabi.h>

#include <boost/dll/shared_library.hpp>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "base/mapped_file.h"
#include "base/outside_current_folder.h"
#include "base/plugin_code.h"
#include "base/untrusted.h"
#include "plugin/plugin_errors.h"
#include "plugin/system_libraries.h"

namespace s2s {

namespace dll = boost::dll;

namespace {

/// Plugins are never unloaded: objects, deleters, autograd nodes, exception types and registered
/// operators can outlive any scope. Therefore the list itself is leaked on purpose.
void keep_forever(dll::shared_library library) {
  static auto* const libraries = new std::vector<dll::shared_library>;
  libraries->push_back(std::move(library));
}

std::string demangled(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? std::string(text.get()) : symbol;
}

/// The message of the dynamic loader contains "...: undefined symbol: NAME[, version V]...".
Error explain(const PluginFile& file, const std::string& words) {
  static constexpr std::string_view kMark = "undefined symbol: ";
  const size_t mark = words.find(kMark);
  if (mark == std::string::npos) return load_error(file.path, file.label(), words);
  const std::string rest = words.substr(mark + kMark.size());
  const std::string symbol = rest.substr(0, rest.find_first_of(" ,)"));
  return symbols_error(file.path, file.label(), demangled(symbol));
}

/// Boost writes "... (dlerror system message: TEXT)...".
std::string loader_words(const std::string& what) {
  static constexpr std::string_view kMark = "dlerror system message: ";
  const size_t mark = what.find(kMark);
  if (mark == std::string::npos) return what;
  const std::string rest = what.substr(mark + kMark.size());
  return rest.substr(0, rest.rfind(')'));
}

}  // namespace

RegisterFunction open_plugin(const PluginFile& file) {
  if (file.problem) throw *file.problem;
  if (is_untrusted() && !is_own_plugin(file.path)) {
    throw untrusted_error("the plugin " + file.path + ", which is not one of the program's own",
                          "leave --untrusted (or S2S_UNTRUSTED) out if you trust whoever made it");
  }
  open_system_libraries(file.path);
  dll::shared_library library;
  try {
    // Do not load the plugin with RTLD_DEEPBIND: it would get its own LibTorch singletons.
    const std::filesystem::path path = std::filesystem::absolute(file.path);
    outside_current_folder(
        [&] { library.load(path, dll::load_mode::rtld_now | dll::load_mode::rtld_local); });
  } catch (const std::system_error& error) {
    throw explain(file, loader_words(error.what()));
  }
  if (!library.has("s2s_plugin_register")) throw entry_error(file.path, file.label());
  const RegisterFunction function = &library.get<void(Registrar&)>("s2s_plugin_register");
  keep_forever(std::move(library));
  remember_plugin_code(file.path, reinterpret_cast<const void*>(function));
  return function;
}

void run_registration(RegisterFunction function, const PluginFile& file, Registries& staging) {
  Registrar registrar(staging);
  try {
    function(registrar);
  } catch (const std::exception& error) {
    throw threw_error(file.path, file.label(), error.what());
  } catch (...) {
    throw threw_error(file.path, file.label(), "something that is not a std::exception");
  }
}

void check_provides(const PluginFile& file, const Registries& staging) {
  std::vector<ComponentId> declared = file.provides;
  std::sort(declared.begin(), declared.end());
  const std::vector<ComponentId> registered = registered_ids(staging);
  std::vector<ComponentId> not_registered, not_declared;
  std::set_difference(declared.begin(), declared.end(), registered.begin(), registered.end(),
                      std::back_inserter(not_registered));
  std::set_difference(registered.begin(), registered.end(), declared.begin(), declared.end(),
                      std::back_inserter(not_declared));
  if (!not_registered.empty() || !not_declared.empty()) {
    throw provides_error(file.path, file.label(), not_registered, not_declared);
  }
}

void commit(const Registries& staging, const std::vector<ComponentId>& ids,
            Registries& registries) {
  const std::vector<ComponentId> present = registered_ids(registries);
  for (const ComponentId& id : ids) {
    if (std::binary_search(present.begin(), present.end(), id)) throw duplicate_name_error(id);
  }
  for_each_kind([&]<class T>() {
    for (const ComponentId& id : ids) {
      if (id.kind != KindName<T>::value) continue;
      if (const Component<T>* found = staging.of<T>().find(id.name)) registries.of<T>().add(*found);
    }
  });
}

std::string file_sha1(const std::string& path) {
  const MappedFile file(path);
  const auto bytes = file.bytes();
  return c10::sha1(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size())).str();
}

}  // namespace s2s
