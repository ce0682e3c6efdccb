// YAML of JSON values.

#include <cctype>

#include "config/scalar.h"
#include "launch/kubernetes_job.h"

namespace s2s::launch {
namespace {

using nlohmann::ordered_json;

bool is_block(const ordered_json& value) { return value.is_structured() && !value.empty(); }

/// Only words are plain: what begins with a digit may be a date for another reader.
std::string scalar(const ordered_json& value) {
  if (!value.is_string()) return value.dump();
  const std::string& text = value.get_ref<const std::string&>();
  const bool is_word = !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) != 0;
  return is_word ? yaml_string(text) : quoted_yaml(text);
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
