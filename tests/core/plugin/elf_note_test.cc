#include "plugin/elf_note.h"

#include <doctest/doctest.h>
#include <elf.h>
#include <sys/stat.h>

#include <cstring>
#include <random>

#include "common/temporary_folder.h"
#include "core/plugin/fixtures.h"
#include "plugin/elf_file.h"
#include "plugin/plugin_facts.h"
#include "s2s/data/fingerprint.h"

using namespace s2s;
using namespace s2s::test;

namespace {

std::vector<std::byte> read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

std::string id_of_parsing(const std::vector<std::byte>& bytes) {
  return error_of([&] { parse_plugin_note(bytes, "x.so"); }).id();
}

std::string id_of_reading(const std::string& path) {
  return error_of([&] { read_plugin_note(path); }).id();
}

}  // namespace

TEST_CASE("the note of a good plugin is read without loading it") {
  const PluginFacts facts = read_facts(read_plugin_note(fixture_file("good")));
  CHECK(facts.name == "fixture_good");
  CHECK(facts.version == "0.1.0");
  CHECK(facts.license == "Apache-2.0");
  CHECK(facts.api == S2S_PLUGIN_API);
  CHECK(facts.provides == std::vector<std::string>{"metric:fixture_good"});
  CHECK(compare_abi(facts, host_facts()).empty());
  CHECK(field_findings(facts).empty());
}

TEST_CASE("the data headers of a plugin are read from its file, if it includes any") {
  CHECK(read_plugin_note(fixture_file("good")).data_headers == std::nullopt);
  CHECK(read_plugin_note(fixture_file("data_headers")).data_headers == S2S_DATA_FINGERPRINT);
  CHECK(read_plugin_note(fixture_file("other_data_headers")).data_headers == "000000000000");
}

TEST_CASE("two files of a plugin that include data headers place one fingerprint") {
  const std::vector<std::byte> bytes = read_bytes(fixture_file("data_headers"));
  const std::string file = "x.so";
  const std::optional<Elf64_Shdr> section = ElfFile(bytes, file).section_named(".s2s_data");
  REQUIRE(section.has_value());
  CHECK(section->sh_size == sizeof(S2S_DATA_FINGERPRINT));
}

TEST_CASE("a section of data headers that has no fingerprint or a strange one is another") {
  PluginFileNote file{};
  CHECK(compare_abi(read_facts(file), host_facts()).size() == 3);  // api, torch, c++
  for (const char* text : {"", "\x1b[2J", "000000000000"}) {
    file.data_headers = text;
    const auto differences = compare_abi(read_facts(file), host_facts());
    REQUIRE(differences.size() == 4);
    CHECK(differences[3].field == "data");
    CHECK(differences[3].plugin.find('\x1b') == std::string::npos);
  }
}

TEST_CASE("the text of the data headers ends with its section, and is never long") {
  std::vector<std::byte> bytes = read_bytes(fixture_file("data_headers"));
  const size_t end = bytes.size();
  bytes.resize(end + 64, std::byte('x'));
  const std::string file = "x.so";
  Elf64_Shdr section = *ElfFile(bytes, file).section_named(".s2s_data");
  const auto* const header = reinterpret_cast<const Elf64_Ehdr*>(bytes.data());
  std::byte* at = bytes.data() + header->e_shoff;
  while (std::memcmp(at, &section, sizeof(section)) != 0) at += sizeof(section);
  const auto parse = [&] {
    std::memcpy(at, &section, sizeof(section));
    return parse_plugin_note(bytes, file).data_headers;
  };
  const std::string whole = S2S_DATA_FINGERPRINT;
  CHECK(parse() == whole);
  section.sh_size = 5;
  CHECK(parse() == whole.substr(0, 5));
  section.sh_size = 0;
  CHECK(parse() == "");
  section.sh_offset = end;
  section.sh_size = 64;
  CHECK(parse() == std::string(32, 'x'));
  section.sh_size = 65;
  CHECK(error_of(parse).id() == "plugin/truncated");
}

TEST_CASE("a file that is no plugin has an error of its own kind") {
  CHECK(id_of_reading(fixture_file("no_note")) == "plugin/no-note");
  CHECK(id_of_reading(fixture_file("wrong_magic")) == "plugin/magic");
  CHECK(id_of_reading(fixture_file("wrong_size")) == "plugin/note-size");
  CHECK(id_of_reading(fixture_file("truncated")) == "plugin/truncated");
  CHECK(id_of_reading(fixture_file("not_elf")) == "plugin/not-elf");
  CHECK(id_of_reading("/nowhere/x.so") == "plugin/unreadable");
  CHECK(id_of_reading(fixture_dir("good")) == "plugin/unreadable");  // a folder
}

TEST_CASE("an empty file and a named pipe end in an error, and nothing waits") {
  const TemporaryFolder scratch;
  std::ofstream(scratch / "empty.so").close();
  CHECK(id_of_reading(scratch / "empty.so") == "plugin/not-elf");
  REQUIRE(mkfifo((scratch / "pipe.so").c_str(), 0600) == 0);
  CHECK(id_of_reading(scratch / "pipe.so") == "plugin/unreadable");
}

TEST_CASE("a program and a foreign processor's object are not plugins") {
  std::vector<std::byte> bytes = read_bytes(fixture_file("good"));
  auto* const header = reinterpret_cast<Elf64_Ehdr*>(bytes.data());
  header->e_type = ET_EXEC;
  CHECK(id_of_parsing(bytes) == "plugin/not-elf");
  header->e_type = ET_DYN;
  header->e_machine = EM_S390;
  CHECK(id_of_parsing(bytes) == "plugin/not-elf");
}

TEST_CASE("a plugin cut at any length is an error and never a crash") {
  const std::vector<std::byte> whole = read_bytes(fixture_file("good"));
  for (size_t size = 0; size < whole.size(); size += size < 600 ? 1 : 37) {
    // A buffer of exactly this size, so that a sanitizer sees a read past its end.
    const std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
    const std::string id = id_of_parsing(cut);
    CHECK_MESSAGE((id == "plugin/truncated" || id == "plugin/not-elf"), size, " gave ", id);
  }
}

TEST_CASE("damaged headers are errors or harmless, and never a crash") {
  const std::vector<std::byte> whole = read_bytes(fixture_file("good"));
  const auto* const header = reinterpret_cast<const Elf64_Ehdr*>(whole.data());
  const size_t sections_at = header->e_shoff;
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::byte> bytes = whole;
    for (int change = 0; change < 4; ++change) {
      const bool in_header = random() % 2 == 0;
      const size_t range = in_header ? sizeof(Elf64_Ehdr) : whole.size() - sections_at;
      bytes[(in_header ? 0 : sections_at) + random() % range] = std::byte(random() % 256);
    }
    const std::string id = id_of_parsing(bytes);
    CHECK((id == "none" || id.starts_with("plugin/")));
  }
}

TEST_CASE("offsets near the end of the number range do not overflow") {
  std::vector<std::byte> bytes = read_bytes(fixture_file("good"));
  auto* const header = reinterpret_cast<Elf64_Ehdr*>(bytes.data());
  header->e_shoff = UINT64_MAX - 8;
  CHECK(id_of_parsing(bytes) == "plugin/truncated");
}

TEST_CASE("text of a note without its final zero is cut at the field's end, and made printable") {
  PluginNote note{};
  std::memset(note.name, 'x', sizeof(note.name));
  std::memcpy(note.version, "1\x1b[2J", 5);
  const PluginFacts facts = read_facts(note);
  CHECK(facts.name == std::string(sizeof(note.name), 'x'));
  CHECK(facts.version == "1?[2J");
}

TEST_CASE("fields that the author left out are all named") {
  PluginFacts facts;
  facts.provides = {"metric:a", "metric:a", "metrik:b", "no colon", "metric:Big"};
  const std::vector<std::string> findings = field_findings(facts);
  REQUIRE(findings.size() == 7);
  CHECK(findings[0] == "name is empty");
  CHECK(contains(findings[3], "twice"));
  CHECK(contains(findings[4], "no kind 'metrik'"));
  CHECK(contains(findings[5], "'no colon'"));
  CHECK(contains(findings[6], "'metric:Big'"));
}

TEST_CASE("CUDA majors are compared only when both sides have one") {
  PluginFacts plugin = host_facts();
  PluginFacts host = host_facts();
  plugin.cuda = "12.8";
  CHECK(compare_abi(plugin, host).empty());
  host.cuda = "12.1";
  CHECK(compare_abi(plugin, host).empty());
  host.cuda = "13.0";
  REQUIRE(compare_abi(plugin, host).size() == 1);
  CHECK(compare_abi(plugin, host)[0].field == "cuda");
}
