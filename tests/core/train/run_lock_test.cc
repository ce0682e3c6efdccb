// One run at a time in a folder, also where the file system gives no lock.

#include "train/run_lock.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <thread>

#include "common/temporary_folder.h"
#include "s2s/error.h"

using namespace s2s;
using s2s::test::TemporaryFolder;
using std::chrono::milliseconds;

namespace {

const OwnerSettings kQuick = {milliseconds(2), milliseconds(300)};

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// The message with which owning the folder is refused; "" when it is not.
std::string refusal(const std::string& folder) {
  try {
    const OwnerFile owner(folder, kQuick);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// What this process writes while it owns the folder.
std::string text_of_owner(const std::string& folder) {
  const OwnerFile owner(folder, kQuick);
  return text_of(folder + "/.owner");
}

}  // namespace

TEST_CASE("a folder has one owner at a time, who is named") {
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  {
    const OwnerFile owner(path, kQuick);
    const std::string text = refusal(path);
    CHECK(has(text, "[run/in-use] another run is using " + path));
    CHECK(has(text, process_name(getpid())));
  }
  CHECK(refusal(path).empty());
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("what a dead process of this machine has left is taken over at once") {
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  const pid_t child = fork();
  if (child == 0) {
    new OwnerFile(path, kQuick);
    _exit(0);  // as kill -9 does: nothing is given back
  }
  int status = 0;
  waitpid(child, &status, 0);
  REQUIRE(has(text_of(path + "/.owner"), "process " + std::to_string(child) + " on "));
  const OwnerSettings patient = {milliseconds(2), std::chrono::hours(1)};
  const OwnerFile owner(path, patient);
  CHECK(text_of(path + "/.owner").starts_with(process_name(getpid())));
}

TEST_CASE("a process with a dead owner's number is not the owner") {
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  std::string text = text_of_owner(path);
  char& digit = text.at(text.find("start ") + 6);
  digit = digit == '9' ? '8' : '9';
  std::ofstream(path + "/.owner") << text;
  const OwnerSettings patient = {milliseconds(2), std::chrono::hours(1)};
  const OwnerFile owner(path, patient);
}

TEST_CASE("an owner in a container of another name is the owner") {
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  std::string text = text_of_owner(path);
  text.insert(text.find('\n'), "-more");  // the same process numbers
  std::ofstream(path + "/.owner") << text;
  CHECK(has(refusal(path), "[run/in-use]"));
}

TEST_CASE("an owner on another machine lives as long as its count goes on") {
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  const std::string file = path + "/.owner";
  const std::string other = "process 17 on far\033away\nplace another\nstart 1\n";
  {
    std::ofstream(file) << other;
    std::jthread far_away([&](const std::stop_token& stop) {
      for (int beat = 0; !stop.stop_requested(); ++beat) {
        std::ofstream(file, std::ios::app) << "beat " << beat << std::endl;
        std::this_thread::sleep_for(milliseconds(2));
      }
    });
    const std::string text = refusal(path);
    CHECK(has(text, "[run/in-use]"));
    CHECK(has(text, "process 17 on far\\x1baway"));
  }
  CHECK(refusal(path).empty());  // nobody counts any more
}

TEST_CASE("an owner counts while it lives") {
  const TemporaryFolder folder;
  const OwnerFile owner(folder.path().string(), kQuick);
  const std::string file = (folder.path() / ".owner").string();
  std::string before = text_of(file);
  for (int i = 0; i < 2000 && (!has(text_of(file), "beat ") || text_of(file) == before); ++i) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  CHECK(text_of(file) != before);
  CHECK(has(text_of(file), "beat "));
}

TEST_CASE("a lock of the file system needs no owner file and no word") {
  const TemporaryFolder folder;
  const RunLock lock(folder.path().string());
  CHECK(lock.warning().empty());
  CHECK_FALSE(std::filesystem::exists(folder.path() / ".owner"));
  CHECK_THROWS_AS(RunLock(folder.path().string()), Error);
}
