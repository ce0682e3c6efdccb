#pragma once
// The keys of an entry of `input_cfg`.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "s2s/options.h"
#include "streams/input_tree.h"

namespace s2s::data {

/// The keys of all types. Nobody checks whether an entry's type uses them.
struct InputItem {
  std::string type;
  std::optional<double> weight;
  Config tags, input_cfg;
  Config cuts_path, shar_path, manifest_filepath, tarred_audio_filepaths, extra_fields;
  InputAttributes attributes;  // the group's, until the entry's own are read
  Config shard_seed, reweight_temperature;

  double agent_silence_duration = -0.08;
  double move_agent_text_back_by = 0;
  bool filter_samples_starting_with_agent = false;
  std::vector<std::string> agent_roles, user_roles;
  std::string target_agent_name = "agent";
  std::string target_user_name = "user";

  std::optional<std::string> audio_locator_tag;
  std::optional<double> token_equivalent_duration;
  Config audio_placeholders;
  std::optional<std::string> audio_root;
  std::vector<std::string> input_roles, output_roles;
  bool strip_timestamp_tokens = true;

  Config name, corpus, language, comment;  // labels

  void visit(OptionVisitor& v);

  DuplexChange duplex_change() const;
  /// ShareGPT's placeholders for audio in a text.
  std::vector<std::string> placeholders() const;
  /// Returns the keys that say what to read.
  std::vector<std::pair<std::string, Config*>> sources();

 private:
  void visit_attributes(OptionVisitor& v);
  void visit_duplex(OptionVisitor& v);
};

}  // namespace s2s::data
