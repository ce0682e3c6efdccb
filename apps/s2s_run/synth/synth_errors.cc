#include "s2s_run/synth/synth_errors.h"

#include <fmt/ranges.h>

namespace s2s::synth {

Error unknown_domain(const std::string& name, const std::vector<std::string>& known) {
  const std::string nearest = nearest_name(name, known);
  const std::string hint = nearest.empty() ? "" : "; did you mean '" + nearest + "'?";
  return {ExitCode::kUsage, "synth/domain",
          fmt::format("--domains: unknown domain '{}'{}\n  known: {}", name, hint,
                      fmt::join(known, ", "))};
}

Error speech_failed(const std::string& text, const std::string& voice) {
  return {ExitCode::kData, "synth/speech",
          "flite's voice '" + voice + "' did not speak every word of '" + text +
              "'; use lower-case words separated by single spaces"};
}

Error folder_in_use(const std::string& folder) {
  return {ExitCode::kData, "synth/folder-in-use",
          folder +
              " exists and is not a complete set of `data synth`; nothing was changed\n"
              "  choose another folder, or remove this one"};
}

Error other_set_there(const std::string& folder, const std::string& there,
                      const std::string& asked) {
  return {ExitCode::kData, "synth/other-set",
          folder + " contains a set with other settings; nothing was changed\n  existing:  " +
              there + "\n  requested: " + asked + "\n  choose another folder, or remove this one"};
}

Error cannot_write(const std::string& path, const std::string& reason) {
  return {ExitCode::kData, "synth/write",
          path + ": " + reason +
              "; all partial output has been removed\n"
              "  a full set needs about 1.5 GB; free some space, use --quick or --format flac, or "
              "choose a folder on another disk"};
}

Error worker_failed(const std::string& reason) {
  return {ExitCode::kData, "synth/worker",
          "a worker process " + reason +
              "; all partial output has been removed\n"
              "  run it again with fewer --workers if the machine ran out of memory"};
}

Error stopped(const std::string& folder) {
  return {ExitCode::kStopped, "synth/stopped",
          "stopped on request; no partial output was left in " + folder +
              "\n  run the same command again"};
}

Error relayed(int exit_code, const std::string& id, const std::string& message) {
  return {static_cast<ExitCode>(exit_code), id, message};
}

Error bad_sample_rate(int64_t rate_hz) {
  return {ExitCode::kUsage, "synth/sample-rate",
          "--sample-rate " + std::to_string(rate_hz) +
              ": the agent's rate must be a multiple of 50 Hz between 8000 and 48000, so that a "
              "quarter of an 80 ms frame is a whole number of samples, for example 16000, 22050 or "
              "24000"};
}

}  // namespace s2s::synth
