#include "base/standard_output.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/utf8_reader.h"

namespace {

/// What a child process that runs `body` prints on standard output.
template <class Body>
std::string printed_by(Body body) {
  int ends[2] = {-1, -1};
  REQUIRE(pipe(ends) == 0);
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    s2s::escape_standard_output();
    body();
    std::exit(0);
  }
  close(ends[1]);
  std::string out;
  char buffer[4096];
  for (ssize_t count; (count = ::read(ends[0], buffer, sizeof(buffer))) > 0;) {
    out.append(buffer, static_cast<size_t>(count));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  return out;
}

}  // namespace

TEST_CASE("every way to print goes through one function, in order") {
  const std::string out = printed_by([] {
    std::printf("a\033[2J\n");
    std::cout << "b\u0085\tc" << std::endl;
    fmt::print("d\u2028e\u202e\n");
    std::puts("\xff\xc3(");
    std::cout << "Gr\u00fc\u00dfe \U0001f600" << std::flush;
  });
  CHECK(out ==
        "a\\u001b[2J\nb\\u0085\tc\nd\\u2028e\\u202e\n\\xff\\xc3(\nGr\u00fc\u00dfe \U0001f600");
}

TEST_CASE("a character that comes in two writes is one character, and the last half is escaped") {
  s2s::OutputEscaper escaper;
  CHECK(escaper.add("a\xf0\x9f").empty() == false);
  CHECK(escaper.add("\x98") == "");
  CHECK(escaper.add("\x80"
                    "b\xe2\x80") ==
        "\U0001f600"
        "b");
  CHECK(escaper.add("\xa8") == "\\u2028");
  CHECK(escaper.add("\xc3") == "");
  CHECK(escaper.end() == "\\xc3");
  CHECK(printed_by([] { std::printf("x\xc3"); }) == "x\\xc3");
}

TEST_CASE("JSON stays JSON with the same texts") {
  const nlohmann::json text = "\x1b\x7f\u0085\u2028\u202e\ufeff\n\"\\ \u00fc";
  const std::string out = printed_by([&] { std::cout << text.dump(); });
  CHECK(out.find('\x7f') == std::string::npos);
  CHECK(out.find("\u2028") == std::string::npos);
  CHECK(nlohmann::json::parse(out) == text);
}

TEST_CASE("data may leave as it is where no terminal reads it") {
  const std::string bytes = "\x1b\xff\r\n";
  CHECK(printed_by([&] {
          std::printf("\x1b");
          s2s::write_standard_output_as_it_is();
          std::cout << bytes;
          std::printf("\x01");
        }) == "\\u001b" + bytes + "\x01");
}

TEST_CASE("a reader that has gone away ends the output and nothing else") {
  int ends[2] = {-1, -1};
  REQUIRE(pipe(ends) == 0);
  close(ends[0]);
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGPIPE, SIG_IGN);
    dup2(ends[1], STDOUT_FILENO);
    s2s::escape_standard_output();
    bool is_well = true;
    try {
      for (int i = 0; i < 10000; ++i) fmt::print("line {}\n", i);
    } catch (const std::exception&) {
      is_well = false;
    }
    is_well = is_well && std::fflush(stdout) == 0;
    _exit(is_well ? 7 : 1);
  }
  close(ends[1]);
  int status = 0;
  waitpid(child, &status, 0);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 7);
}

TEST_CASE("the three standard descriptors are there after a start without them") {
  const pid_t child = fork();
  if (child == 0) {
    for (int descriptor = 0; descriptor < 3; ++descriptor) close(descriptor);
    s2s::open_standard_descriptors();
    const bool are_open =
        fcntl(0, F_GETFD) >= 0 && fcntl(1, F_GETFD) >= 0 && fcntl(2, F_GETFD) >= 0;
    const int next = open("/dev/null", O_RDONLY);
    _exit(are_open && next > 2 ? 7 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 7);
}

TEST_CASE("UTF-8 is what the standard says it is") {
  using s2s::first_character;
  using s2s::Utf8Character;
  const auto kind = [](std::string_view text) { return first_character(text).kind; };
  CHECK(first_character("\u00fc").code == 0xFC);
  CHECK(first_character("\u2028x").num_bytes == 3);
  CHECK(first_character("\U0010FFFF").code == 0x10FFFF);
  for (const char* bad : {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80",
                          "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xc3("}) {
    CHECK_MESSAGE(kind(bad) == Utf8Character::kInvalid, bad);
  }
  for (const char* cut : {"\xc3", "\xe2\x80", "\xf0\x9f\x98"}) {
    CHECK(kind(cut) == Utf8Character::kCut);
  }
}
