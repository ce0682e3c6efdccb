#pragma once
// Errors of `data synth`.

#include <string>
#include <vector>

#include "s2s/error.h"

namespace s2s::synth {

Error unknown_domain(const std::string& name, const std::vector<std::string>& known);
Error speech_failed(const std::string& text, const std::string& voice);
/// The folder contains something other than a complete set.
Error folder_in_use(const std::string& folder);
Error other_set_there(const std::string& folder, const std::string& there,
                      const std::string& asked);
Error cannot_write(const std::string& path, const std::string& reason);
Error worker_failed(const std::string& reason);
Error stopped(const std::string& folder);
/// An error of a worker process, rethrown in the parent.
Error relayed(int exit_code, const std::string& id, const std::string& message);
Error bad_sample_rate(int64_t rate_hz);

}  // namespace s2s::synth
