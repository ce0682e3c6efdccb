#include "base/parser_process.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>

#include "base/byte_codec.h"
#include "base/parser_starter.h"
#include "s2s/error.h"
#include "s2s/interrupted_calls.h"

namespace s2s {
namespace {

std::atomic<int> g_control{-1};  // the starter's socket; -1: parsers run in this process
pid_t g_starter = -1;

Error starter_error(const char* call) {
  return {ExitCode::kUsage, "untrusted/system",
          fmt::format("--untrusted: no process for parsers: {}: {}\n"
                      "  next:      allow this account more processes and open files (ulimit -u, "
                      "ulimit -n)",
                      call, std::strerror(errno))};
}

void send_order(int control, const ParserOrder& order, const std::vector<int>& files) {
  ParserOrder copy = order;
  iovec bytes{&copy, sizeof copy};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * (1 + kMostParserFiles))> beside{};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = beside.data();
  message.msg_controllen = CMSG_SPACE(sizeof(int) * files.size());
  cmsghdr* const part = CMSG_FIRSTHDR(&message);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(sizeof(int) * files.size());
  std::memcpy(CMSG_DATA(part), files.data(), sizeof(int) * files.size());
  ssize_t count = 0;
  InterruptedCalls interrupted;
  do {
    count = ::sendmsg(control, &message, MSG_NOSIGNAL);
  } while (count < 0 && interrupted.again());
  if (count != sizeof copy) throw starter_error("sendmsg");
}

std::string reason_of(ParserStatus status, std::string_view bytes, const ParserLimits& limits) {
  ByteReader reader(bytes);
  if (status == ParserStatus::kTime) {
    return fmt::format("it takes more than {} s of processor time", limits.seconds);
  }
  if (status == ParserStatus::kForbidden) {
    return fmt::format("its parser tried the system call {}, which a parser may not",
                       reader.number());
  }
  return fmt::format("its parser crashed with signal {}", reader.number());
}

[[noreturn]] void throw_error(std::string_view bytes) {
  ByteReader reader(bytes);
  const auto code =
      static_cast<ExitCode>(reader.number_up_to(static_cast<int>(ExitCode::kStopped)));
  const std::string id(reader.text());
  throw Error(code, id, std::string(reader.text()));
}

}  // namespace

void start_parser_processes() {
  S2S_ASSERT(!parses_apart(), "one starter is enough");
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    throw starter_error("socketpair");
  }
  const pid_t starter = ::fork();
  if (starter < 0) throw starter_error("fork");
  if (starter == 0) start_parsers(ends[1]);
  ::close(ends[1]);
  g_starter = starter;
  g_control = ends[0];
}

void end_parser_processes() {
  const int control = g_control.exchange(-1);
  if (control < 0) return;
  ::close(control);
  InterruptedCalls interrupted;
  while (::waitpid(g_starter, nullptr, 0) < 0 && interrupted.again()) {
  }
}

bool parses_apart() { return g_control >= 0; }

ParserProcess::ParserProcess(std::string what, ForeignParser parse, const std::vector<int>& files,
                             const ParserLimits& limits)
    : what_(std::move(what)), limits_(limits) {
  S2S_ASSERT(files.size() <= kMostParserFiles, "the order has room for them");
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw starter_error("socketpair");
  }
  stream_ = ends[0];
  std::vector<int> sent = {ends[1]};
  sent.insert(sent.end(), files.begin(), files.end());
  try {
    send_order(g_control, ParserOrder{parse, limits}, sent);
    ::close(ends[1]);
    read_all(reinterpret_cast<char*>(&process_), sizeof process_);
    if (process_ < 0) fail("its parser process could not be started");
  } catch (...) {
    ::close(stream_);
    throw;
  }
}

ParserProcess::~ParserProcess() {
  if (stream_ >= 0) ::close(stream_);
}

void ParserProcess::fail(const std::string& reason) {
  is_over_ = true;
  if (process_ > 1) ::kill(static_cast<pid_t>(process_), SIGKILL);
  throw Error(ExitCode::kData, "untrusted/parser",
              fmt::format("{}: {}\n"
                          "  next:      do not use this file; or read it without --untrusted if "
                          "you trust whoever made it",
                          what_, reason));
}

void ParserProcess::write_all(std::string_view bytes) {
  InterruptedCalls interrupted;
  while (!bytes.empty()) {
    const ssize_t count = ::send(stream_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0 && interrupted.again()) continue;
    if (count <= 0) return;  // reading the answer reports it
    interrupted.reset();
    bytes.remove_prefix(static_cast<size_t>(count));
  }
}

void ParserProcess::read_all(char* to, size_t num_bytes) {
  using Clock = std::chrono::steady_clock;
  constexpr int kWaits = 4;  // other work may keep the processors busy
  const auto end = Clock::now() + std::chrono::seconds(30 + kWaits * limits_.seconds);
  InterruptedCalls interrupted;
  while (num_bytes > 0) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd wait{stream_, POLLIN, 0};
    const int ready = left <= 0 ? 0 : ::poll(&wait, 1, static_cast<int>(left));
    if (ready < 0 && interrupted.again()) continue;
    if (ready <= 0) fail("its parser does not answer");
    const ssize_t count = ::recv(stream_, to, num_bytes, 0);
    if (count < 0 && interrupted.again()) continue;
    if (count <= 0) fail("its parser ended without an answer");
    interrupted.reset();
    to += count;
    num_bytes -= static_cast<size_t>(count);
  }
}

std::string ParserProcess::answer(std::string_view request) {
  if (is_over_) fail("its parser has ended");
  const uint64_t request_size = request.size();
  write_all({reinterpret_cast<const char*>(&request_size), sizeof request_size});
  write_all(request);
  ParserStatus status{};
  uint64_t size = 0;
  read_all(reinterpret_cast<char*>(&status), sizeof status);
  read_all(reinterpret_cast<char*>(&size), sizeof size);
  if (size > static_cast<uint64_t>(limits_.memory_bytes)) fail("its parser's answer is too long");
  std::string bytes(size, '\0');
  read_all(bytes.data(), size);
  switch (status) {
    case ParserStatus::kDone:
      return bytes;
    case ParserStatus::kError:
      throw_error(bytes);
    case ParserStatus::kReason:
      throw std::runtime_error(bytes);
    case ParserStatus::kMemory:
      is_over_ = true;
      throw std::bad_alloc();
    case ParserStatus::kTime:
    case ParserStatus::kForbidden:
    case ParserStatus::kCrash:
      fail(reason_of(status, bytes, limits_));
  }
  fail("its parser's answer makes no sense");
}

std::string parse_apart(const std::string& what, ForeignParser parse, std::string_view request,
                        const std::vector<int>& files, const ParserLimits& limits) {
  return ParserProcess(what, parse, files, limits).answer(request);
}

}  // namespace s2s
