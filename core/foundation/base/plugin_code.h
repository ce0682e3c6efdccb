#pragma once
// Finds the plugin whose code crashed or threw an exception.

#include <string>

namespace s2s {

/// Remembers the addresses of a plugin's code. `path` is its file, `inside` an address in its code.
/// Does nothing if the address is in no library, or after 512 plugins.
void remember_plugin_code(const std::string& path, const void* inside);

/// Returns the file of the plugin whose code is innermost on the stack of the calling thread, or
/// null. May be called in a signal handler.
const char* plugin_on_stack();

/// Returns the file of the plugin whose code was innermost when `exception`, the address of the
/// complete object, was thrown. Null if there is none, or if the program does not record it
/// (s2s_run/launcher/thrown.cc).
const char* plugin_that_threw(const void* exception);

/// Writes to standard error which plugin has crashed, if any. For a handler of `signal`; it
/// allocates no memory.
void tell_crashed_plugin(int signal);

/// From now on, reports crashed plugins; then the signal ends the process as before.
void tell_crashed_plugins();

}  // namespace s2s
