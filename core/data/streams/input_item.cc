#include "streams/input_item.h"

namespace s2s::data {

void InputItem::visit(OptionVisitor& v) {
  v("type", type, "what it is: lhotse_shar, nemo_tarred, group, ...", required());
  v("weight", weight, "share of the mix; all entries of a group or none");
  v("tags", tags, "custom fields of each of its cuts");
  v("input_cfg", input_cfg, "sources of a group: a list, or the path of a YAML file");
  v("cuts_path", cuts_path, "Lhotse cuts, .jsonl or .jsonl.gz");
  v("shar_path", shar_path, "Shar: a directory, a list, or shards by field");
  v("manifest_filepath", manifest_filepath, "NeMo's manifest");
  v("tarred_audio_filepaths", tarred_audio_filepaths, "the tars of NeMo's manifest");
  v("extra_fields", extra_fields, "NeMo: [{type: text_iter | text_sample, name, path}]");
  visit_attributes(v);
  visit_duplex(v);
  v("audio_locator_tag", audio_locator_tag, "of conversations; no use here");
  v("token_equivalent_duration", token_equivalent_duration, "of conversations; no use here");
  v("audio_placeholders", audio_placeholders, "ShareGPT: marks of audio in a text");
  v("audio_root", audio_root, "ShareGPT: folder of relative audio paths");
  v("input_roles", input_roles, "of s2s_as_conversation; data.input_roles is used");
  v("output_roles", output_roles, "of s2s_as_conversation; data.output_roles is used");
  v("strip_timestamp_tokens", strip_timestamp_tokens, "always done");
  v("name", name, "a label");
  v("corpus", corpus, "a label");
  v("language", language, "a label");
  v("comment", comment, "a label");
}

void InputItem::visit_attributes(OptionVisitor& v) {
  v("shuffle", attributes.shuffle, "shards in another order in each pass");
  v("shard_seed", shard_seed, "of that order and of mixing");
  v("reweight_temperature", reweight_temperature, "power of the weights below");
  v("text_field", attributes.text_field, "NeMo: key of the text");
  v("lang_field", attributes.lang_field, "NeMo: key of the language");
  v("metadata_only", attributes.metadata_only, "no audio header is read");
  v("force_finite", attributes.force_finite, "one pass");
  v("max_open_streams", attributes.max_open_streams, "endless mix of so many shards", at_least(1));
  v("skip_missing_manifest_entries", attributes.skip_missing_manifest_entries,
    "NeMo: tar members that the manifest lacks are left out");
  v("force_map_dataset", attributes.force_map_dataset, "tarred and others may be mixed: passes");
  v("force_iterable_dataset", attributes.force_iterable_dataset,
    "tarred and others may be mixed: endless");
  v("slice_length", attributes.slice_length, "so many consecutive cuts of each shard", at_least(1));
}

void InputItem::visit_duplex(OptionVisitor& v) {
  v("agent_silence_duration", agent_silence_duration,
    "nemo_tarred_to_duplex: silence of the agent in s; negative: at the end of the user's audio");
  v("move_agent_text_back_by", move_agent_text_back_by, "overlap: agent turns begin earlier, in s");
  v("filter_samples_starting_with_agent", filter_samples_starting_with_agent,
    "overlap: leave out dialogues that the agent begins");
  v("agent_roles", agent_roles, "speakers that are the agent");
  v("user_roles", user_roles, "reverse_role: speakers that are the user");
  v("target_agent_name", target_agent_name, "reverse_role: who was the user");
  v("target_user_name", target_user_name, "reverse_role: who was the agent");
}

DuplexChange InputItem::duplex_change() const {
  DuplexChange change{agent_silence_duration,
                      move_agent_text_back_by,
                      filter_samples_starting_with_agent,
                      agent_roles,
                      user_roles,
                      target_agent_name,
                      target_user_name};
  const bool reverse = type == "s2s_duplex_reverse_role";
  if (change.agent_roles.empty()) {
    change.agent_roles = {"agent", "Assistant", "assistant"};
    if (reverse) change.agent_roles.push_back("Agent");
  }
  if (change.user_roles.empty()) change.user_roles = {"user", "User"};
  return change;
}

std::vector<std::string> InputItem::placeholders() const {
  if (audio_placeholders.is_scalar()) return {audio_placeholders.text()};
  std::vector<std::string> marks;
  for (const Config& item : audio_placeholders.items()) marks.push_back(item.text());
  if (marks.empty()) marks = {"<sound>", "<speech>"};
  return marks;
}

std::vector<std::pair<std::string, Config*>> InputItem::sources() {
  return {{"cuts_path", &cuts_path},
          {"shar_path", &shar_path},
          {"manifest_filepath", &manifest_filepath},
          {"tarred_audio_filepaths", &tarred_audio_filepaths},
          {"extra_fields", &extra_fields}};
}

}  // namespace s2s::data
