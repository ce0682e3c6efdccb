// Any bytes as a plugin's file: what `plugin list` reads of it before any of its code runs.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "plugin/elf_note.h"
#include "plugin/plugin_facts.h"
#include "s2s/error.h"

namespace {

void expect_printable(const std::string& text) {
  for (const char c : text) {
    if (c != '\n' && (c < ' ' || c > '~')) __builtin_trap();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const auto note =
        s2s::parse_plugin_note({reinterpret_cast<const std::byte*>(data), size}, "fuzz");
    const auto facts = s2s::read_facts(note);
    s2s::compare_abi(facts, s2s::host_facts());
    expect_printable(s2s::abi_text(facts));
    for (const std::string& finding : s2s::field_findings(facts)) expect_printable(finding);
    for (const auto& id : s2s::provided_ids(facts)) expect_printable(id.text());
  } catch (const s2s::Error& error) {  // what a user would read
    expect_printable(error.what());
  }
  return 0;
}
