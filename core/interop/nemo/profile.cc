// Translates NsightProfiling of NeMo's trainer.callbacks.

#include <fmt/format.h>

#include "base/text.h"
#include "config/config_errors.h"
#include "config/interpolation.h"
#include "config/yaml_writer.h"
#include "nemo/nemo_model.h"

namespace s2s::interop {
namespace {

constexpr const char* kCallbacks = "trainer.callbacks";

bool is_nsight(const Config& callback) {
  const Config* const target = callback.is_map() ? callback.find("_target_") : nullptr;
  return target != nullptr && target->is_scalar() && target->text().ends_with("NsightProfiling");
}

Config scalar_at(const std::string& text, const Config& origin) {
  Config value = Config::scalar(text);
  value.set_origin(origin.origin());
  return value;
}

class Callback {
 public:
  Callback(const Config& callback, std::string path, int64_t accumulate, Findings& findings)
      : callback_(callback), path_(std::move(path)), accumulate_(accumulate), findings_(findings) {}

  /// The equivalent block trainer.profile.
  Config profile() {
    const std::vector<std::string> known = {"begin_step", "end_step", "gen_shape", "nvtx_ranges"};
    for (const auto& [key, value] : callback_.entries()) {
      // NeMo's documentation has start_step, its code begin_step.
      if (key != "_target_" && key != "start_step" && !contains(known, key)) {
        findings_.add(unknown_key_error(key, path_, value, known));
      }
    }
    Config profile = Config::map();
    profile.set_origin(callback_.origin());
    profile["tool"] = scalar_at("nsys", callback_);
    take_step(profile, callback_.find("begin_step") != nullptr ? "begin_step" : "start_step",
              "begin_step");
    take_step(profile, "end_step", "end_step");
    if (const Config* shapes = callback_.find("gen_shape")) profile["shapes"] = *shapes;
    const Config* const ranges = callback_.find("nvtx_ranges");
    profile["nvtx_ranges"] = ranges != nullptr ? *ranges : scalar_at("false", callback_);
    profile["ranks"] = Config::list({});  // of every process, as in NeMo
    return profile;
  }

 private:
  /// NeMo counts micro-batches.
  void take_step(Config& profile, const char* theirs, const char* ours) {
    const Config* const value = callback_.find(theirs);
    if (value == nullptr || value->is_null()) {
      findings_.add(missing_key_error(path_ + "." + ours, callback_, "a micro-batch, from 0"));
      return;
    }
    if (is_unresolved(*value) || !value->is_scalar()) {
      profile[ours] = *value;
      return;
    }
    try {
      const int64_t batch = value->as_int(path_ + "." + theirs);
      profile[ours] = scalar_at(std::to_string(batch / accumulate_), *value);
    } catch (const Error& error) {
      findings_.add(error);
    }
  }

  const Config& callback_;
  std::string path_;
  int64_t accumulate_;
  Findings& findings_;
};

int64_t micro_batches(const Config& trainer) {
  const Config* const node = trainer.find("accumulate_grad_batches");
  if (node == nullptr || !node->is_scalar() || node->is_null() || is_unresolved(*node)) return 1;
  try {
    return std::max<int64_t>(1, node->as_int("trainer.accumulate_grad_batches"));
  } catch (const Error&) {
    return 1;  // the check reports it
  }
}

}  // namespace

void translate_profile(Config& config, Findings& findings, ConfigNotes& notes) {
  Config* const trainer = config.find("trainer");
  if (trainer == nullptr || !trainer->is_map()) return;
  const Config* const found = trainer->find("callbacks");
  if (found == nullptr || !found->is_list()) return;
  const std::vector<Config> callbacks = found->items();
  std::vector<Config> others;
  for (size_t i = 0; i < callbacks.size(); ++i) {
    if (!is_nsight(callbacks[i])) {
      others.push_back(callbacks[i]);
      continue;
    }
    const std::string path = fmt::format("{}.{}", kCallbacks, i);
    Config profile = Callback(callbacks[i], path, micro_batches(*trainer), findings).profile();
    if (trainer->find("profile") != nullptr) {
      notes.without_effect.push_back(config_place(path, callbacks[i]) +
                                     ": trainer.profile is written");
      continue;
    }
    notes.others.push_back(config_place(path, callbacks[i]) +
                           ": read as trainer.profile: " + write_yaml_inline(profile));
    (*trainer)["profile"] = std::move(profile);
  }
  if (others.size() == callbacks.size()) return;
  if (others.empty()) {
    trainer->erase("callbacks");
  } else {
    (*trainer)["callbacks"] = Config::list(std::move(others));
  }
}

}  // namespace s2s::interop
