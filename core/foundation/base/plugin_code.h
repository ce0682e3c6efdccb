#pragma once
// Which plugin the code belongs to that crashed or threw an exception.

#include <string>

namespace s2s {

/// Remembers where the code of a plugin lies. `path`: its file. `inside`: an address of its code.
/// Does nothing for an address of no library, and after 512 plugins.
void remember_plugin_code(const std::string& path, const void* inside);

/// The file of the plugin whose code is innermost on the stack of the calling thread; null if there
/// is none. May be called in a signal handler.
const char* plugin_on_stack();

/// The file of the plugin whose code was innermost where `exception`, the address of the complete
/// object, was thrown; null if there is none, or if the program does not record it
/// (s2s_run/launcher/thrown.cc).
const char* plugin_that_threw(const void* exception);

/// Writes which plugin has crashed, if one has, to standard error. For a handler of `signal`: it
/// allocates nothing.
void tell_crashed_plugin(int signal);

/// Tells crashed plugins from now on, then lets the signal end the process as before.
void tell_crashed_plugins();

}  // namespace s2s
