// Translates trainer.strategy as written for Lightning, NeMo and DeepSpeed.

#include <fmt/format.h>

#include "config/config_errors.h"
#include "config/interpolation.h"
#include "config/yaml_writer.h"
#include "lightning/lightning.h"
#include "lightning/strategy_names.h"

namespace s2s::interop {
namespace {

constexpr const char* kPath = "trainer.strategy";
constexpr const char* kTarget = "_target_";

std::string path_of(const std::string& key) { return fmt::format("{}.{}", kPath, key); }

/// "name: fsdp, zero_stage: 2"
std::string entries_text(const Config& block) {
  std::string text;
  for (const auto& [key, value] : block.entries()) {
    text += (text.empty() ? "" : ", ") + key + ": " + value.text();
  }
  return text;
}

Error strategy_error(const std::string& message) {
  return {ExitCode::kConfig, "config/strategy", message};
}

Error unknown_class(const Config& target) {
  return strategy_error(
      config_place(path_of(kTarget), target) + ": " + config_value(target) +
      " is not a known strategy; expected DDPStrategy, FSDPStrategy, ModelParallelStrategy, "
      "DeepSpeedStrategy, or instead of _target_ a name: s2s-run plugin list --kind strategy");
}

Error two_names(const Config& name, const Config& target) {
  return strategy_error(config_place(kPath, target) + " has both name: " + name.text() + " and " +
                        kTarget + ": " + target.text() +
                        "; keep one of them (a map on the command line is merged into the file's; "
                        "~" +
                        path_of("name") + " removes a key)");
}

Error incomplete_name(const std::string& path, const Config& name, const std::string& ours) {
  return strategy_error(config_place(path, name) + ": " + config_value(name) +
                        " is incomplete; write trainer.strategy: " + ours);
}

/// Replaces another framework's strategy name by our block. Options beside it take precedence.
void put(Config& strategy, const Config& ours, const Origin& origin) {
  for (auto [key, value] : ours.entries()) {
    value.set_origin(origin);
    if (key == "name" || strategy.find(key) == nullptr) strategy[key] = std::move(value);
  }
}

class Translation {
 public:
  Translation(Config& strategy, Findings& findings, ConfigNotes& notes)
      : strategy_(strategy), findings_(findings), notes_(notes) {}

  void run() {
    const bool is_text = strategy_.is_scalar() && !strategy_.is_missing();
    if (is_text) from_text();
    if (!strategy_.is_map()) return;
    const Config* target = strategy_.find(kTarget);
    if (target != nullptr) {
      from_class(*target);
    } else if (!is_text) {
      from_name();
    }
    drop_without_effect();
  }

 private:
  void note_read_as(const std::string& path, const Config& theirs, const std::string& ours) {
    notes_.others.push_back(config_place(path, theirs) + ": " + config_value(theirs) +
                            " is read as " + ours);
  }

  /// strategy: ddp
  void from_text() {
    const Config text = strategy_;
    const std::string complete = complete_strategy(text.text());
    if (!complete.empty()) return give_up(incomplete_name(kPath, text, complete));
    Config ours = our_strategy(text.text());
    if (ours.is_null()) ours["name"] = text;
    note_read_as(kPath, text, entries_text(ours));
    Config block = Config::map();
    block.set_origin(text.origin());
    put(block, ours, text.origin());
    strategy_ = std::move(block);
  }

  /// strategy: {name: deepspeed_stage_2}
  void from_name() {
    const Config* found = strategy_.find("name");
    if (found == nullptr || !found->is_scalar() || is_unresolved(*found)) return;
    const Config name = *found;
    const std::string complete = complete_strategy(name.text());
    if (!complete.empty()) return give_up(incomplete_name(path_of("name"), name, complete));
    const Config ours = our_strategy(name.text());
    if (ours.is_null()) return;
    note_read_as(path_of("name"), name, entries_text(ours));
    put(strategy_, ours, name.origin());
  }

  /// strategy: {_target_: lightning.pytorch.strategies.DDPStrategy}
  void from_class(const Config target) {
    const Config* name = strategy_.find("name");
    if (name != nullptr) return give_up(two_names(*name, target));
    const Config ours = target.is_scalar() ? our_strategy(target.text()) : Config();
    if (ours.is_null()) return give_up(unknown_class(target));
    note_read_as(path_of(kTarget), target, entries_text(ours));
    strategy_.erase(kTarget);
    rename_options();
    put(strategy_, ours, target.origin());
  }

  /// The options of an unknown strategy are not checked.
  void give_up(Error error) {
    findings_.add(std::move(error));
    strategy_ = Config::map();
    strategy_["name"] = Config::scalar("single");
  }

  void rename_options() {
    const std::vector<std::pair<std::string, Config>> entries = strategy_.entries();
    for (const auto& [key, value] : entries) {
      const OurOption ours = our_strategy_option(key, value);
      if (ours.key.empty()) continue;
      strategy_.erase(key);
      if (value.is_null()) continue;  // NeMo's notation for the default
      Config ours_value = ours.value.empty() ? value : Config::scalar(ours.value);
      ours_value.set_origin(value.origin());
      note_read_as(path_of(key), value, ours.key + ": " + ours_value.text());
      const Config* before = strategy_.find(ours.key);
      // offload: params includes the optimizer state.
      if (before == nullptr || before->text() != "params") strategy_[ours.key] = ours_value;
    }
  }

  void drop_without_effect() {
    const std::vector<std::pair<std::string, Config>> entries = strategy_.entries();
    for (const auto& [key, value] : entries) {
      const std::string why = why_without_effect(key, value);
      if (why.empty()) continue;
      notes_.without_effect.push_back(config_place(path_of(key), value) + ": " + why);
      strategy_.erase(key);
    }
  }

  Config& strategy_;
  Findings& findings_;
  ConfigNotes& notes_;
};

}  // namespace

void translate_strategy(Config& config, Findings& findings, ConfigNotes& notes) {
  Config* const trainer = config.find("trainer");
  Config* const strategy = trainer == nullptr ? nullptr : trainer->find("strategy");
  if (strategy == nullptr || is_unresolved(*strategy)) return;
  Translation(*strategy, findings, notes).run();
}

}  // namespace s2s::interop
