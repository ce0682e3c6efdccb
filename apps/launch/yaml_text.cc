// YAML of JSON values.

#include <cctype>

#include "launch/kubernetes_job.h"

namespace s2s::launch {
namespace {

using nlohmann::ordered_json;

bool is_block(const ordered_json& value) { return value.is_structured() && !value.empty(); }

/// A name needs no quotes unless YAML could read a number, a truth value or syntax.
std::string scalar(const ordered_json& value) {
  if (!value.is_string()) return value.dump();
  const std::string& text = value.get_ref<const std::string&>();
  const bool is_word = !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) != 0 &&
                       text.find_first_not_of(
                           "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                           "0123456789-_./") == std::string::npos;
  static const std::vector<std::string> kTruths = {"y",   "yes", "n",    "no",   "true",  "false",
                                                   "on",  "off", "null", "True", "False", "None",
                                                   "Yes", "No",  "On",   "Off",  "Null"};
  for (const std::string& truth : kTruths) {
    if (text == truth) return value.dump();
  }
  return is_word ? text : value.dump();  // JSON's quotes are YAML's
}

void write(const ordered_json& value, const std::string& indent, std::string& out);

void write_entry(const ordered_json& value, const std::string& indent, std::string& out) {
  if (!is_block(value)) {
    out += " " + scalar(value) + "\n";
    return;
  }
  out += "\n";
  write(value, indent, out);
}

void write(const ordered_json& value, const std::string& indent, std::string& out) {
  if (value.is_object()) {
    for (const auto& [name, entry] : value.items()) {
      out += indent + scalar(name) + ":";
      write_entry(entry, indent + (entry.is_array() ? "" : "  "), out);
    }
    return;
  }
  for (const ordered_json& entry : value) {
    if (!is_block(entry)) {
      out += indent + "- " + scalar(entry) + "\n";
      continue;
    }
    std::string block;
    write(entry, indent + "  ", block);
    block.replace(indent.size(), 2, "- ");
    out += block;
  }
}

}  // namespace

std::string yaml_documents(const std::vector<ordered_json>& objects) {
  std::string out;
  for (const ordered_json& object : objects) {
    if (!out.empty()) out += "---\n";
    write(object, "", out);
  }
  return out;
}

}  // namespace s2s::launch
