#include "base/parser_process.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <new>
#include <numeric>

#include "base/byte_codec.h"
#include "common/temporary_folder.h"
#include "s2s/error.h"

namespace s2s {
namespace {

using s2s::test::TemporaryFolder;
using Files = std::vector<int>;

std::string turn(std::string_view request, const Files& /*files*/) {
  return {request.rbegin(), request.rend()};
}
std::string refuse(std::string_view request, const Files& /*files*/) {
  if (request == "reason") throw std::runtime_error("it is damaged");
  throw data_error("data/field", "cuts.jsonl:3: no field 'id'");
}
/// Answers with errno, or 0 when it could.
std::string attempt(std::string_view request, const Files& /*files*/) {
  errno = 0;
  if (request == "read") ::open("/etc/passwd", O_RDONLY);
  if (request == "write") ::open("/tmp/s2s-parser-was-here", O_CREAT | O_WRONLY, 0600);
  if (request == "code") {
    void* const code = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code != MAP_FAILED) errno = 0;
  }
  return std::to_string(errno);
}
std::string misbehave(std::string_view request, const Files& /*files*/) {
  if (request == "exec") ::execl("/bin/true", "true", nullptr);
  if (request == "connect") ::socket(AF_INET, SOCK_STREAM, 0);
  if (request == "fork") ::fork();
  if (request == "signal") ::kill(::getppid(), SIGTERM);
  if (request == "crash") std::raise(SIGSEGV);
  if (request == "end") ::_exit(0);
  volatile uint64_t count = 0;
  while (request == "loop") count = count + 1;
  return "done";
}
std::string grow(std::string_view /*request*/, const Files& /*files*/) {
  std::vector<std::unique_ptr<std::string>> all;
  while (true) all.push_back(std::make_unique<std::string>(size_t{1} << 24, 'x'));
}
std::string copy(std::string_view /*request*/, const Files& files) {
  std::string text(64, '\0');
  text.resize(static_cast<size_t>(::read(files.at(0), text.data(), text.size())));
  return std::to_string(::write(files.at(1), text.data(), text.size()));
}

void start_once() {
  if (!parses_apart()) start_parser_processes();
}

std::string reason_for(ForeignParser parse, const std::string& request) {
  try {
    parse_apart("a.bin", parse, request, {}, {.seconds = 1, .memory_bytes = 64 << 20});
  } catch (const Error& error) {
    CHECK(error.id() == "untrusted/parser");
    return error.message();
  }
  return "no error";
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a parser process answers, one request after the other") {
  start_once();
  ParserProcess process("a text", turn);
  CHECK(process.answer("abc") == "cba");
  CHECK(process.answer("") == "");
  std::string large(3 << 20, 'a');
  large.back() = 'z';
  CHECK(process.answer(large).front() == 'z');
}

TEST_CASE("errors of a parser arrive as they were thrown, and it goes on") {
  start_once();
  ParserProcess process("a text", refuse);
  CHECK_THROWS_WITH_AS(process.answer("reason"), "it is damaged", std::runtime_error);
  try {
    process.answer("error");
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.id() == "data/field");
    CHECK(error.message() == "cuts.jsonl:3: no field 'id'");
    CHECK(error.exit_code() == ExitCode::kData);
  }
  CHECK_FALSE(process.is_over());
}

TEST_CASE("a parser process can open nothing and make no code") {
  start_once();
  for (const char* request : {"read", "write", "code"}) {
    CAPTURE(request);
    CHECK(parse_apart("a.bin", attempt, request) == std::to_string(EPERM));
  }
  CHECK(::access("/tmp/s2s-parser-was-here", F_OK) != 0);
}

TEST_CASE("what else a parser tries ends it with one message") {
  start_once();
  for (const char* request : {"exec", "connect", "fork", "signal"}) {
    CAPTURE(request);
    const std::string reason = reason_for(misbehave, request);
    CAPTURE(reason);
    CHECK(has(reason, "a.bin: its parser tried the system call "));
  }
  CHECK(has(reason_for(misbehave, "crash"), "its parser crashed with signal 11"));
  CHECK(has(reason_for(misbehave, "end"), "its parser ended without an answer"));
  CHECK(has(reason_for(misbehave, "loop"), "it takes more than 1 s of processor time"));
  CHECK(parse_apart("b.bin", misbehave, "nothing") == "done");  // the next one is not harmed
}

TEST_CASE("a parser's memory is limited") {
  start_once();
  CHECK_THROWS_AS(parse_apart("a.bin", grow, "", {}, {.memory_bytes = 64 << 20}), std::bad_alloc);
}

TEST_CASE("a parser has the files that it was given, up to their limit") {
  start_once();
  const TemporaryFolder folder;
  std::ofstream(folder / "in") << "some content";
  const int in = ::open((folder / "in").c_str(), O_RDONLY | O_CLOEXEC);
  const int out = ::open((folder / "out").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  CHECK(parse_apart("in", copy, "", {in, out}, {.file_bytes = 100}) == "12");
  char text[16] = {};
  CHECK(::pread(out, text, sizeof text, 0) == 12);
  CHECK(std::string(text) == "some content");
  ::lseek(in, 0, SEEK_SET);
  CHECK_THROWS_AS(parse_apart("in", copy, "", {in, out}, {.file_bytes = 5}), Error);
  ::close(in);
  ::close(out);
}

TEST_CASE("nothing is left of parser processes when they are ended") {
  start_once();
  const ParserProcess waiting("a text", turn);
  parse_apart("a text", turn, "abc");
  end_parser_processes();
  CHECK_FALSE(parses_apart());
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);  // no child
  CHECK(errno == ECHILD);
}

TEST_CASE("an answer that makes no sense is an error") {
  ByteWriter bytes;
  bytes.number(5);
  bytes.text("abc");
  bytes.real(0.5);
  const std::string whole = bytes.take();
  ByteReader reader(whole);
  CHECK(reader.number_up_to(5) == 5);
  CHECK(reader.text() == "abc");
  CHECK(reader.real() == 0.5);
  CHECK(reader.at_end());
  for (size_t size = 0; size < whole.size(); ++size) {
    ByteReader cut(std::string_view(whole).substr(0, size));
    const auto read = [&] {
      cut.number();
      cut.text();
      cut.real();
    };
    CHECK_THROWS_AS(read(), std::runtime_error);
  }
  CHECK_THROWS_AS(ByteReader(whole).number_up_to(4), std::runtime_error);
}

}  // namespace s2s
