#include "base/atomic_file.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/io_errors.h"
#include "common/full_disk.h"
#include "common/temporary_folder.h"

namespace {

namespace fs = std::filesystem;
using s2s::test::TemporaryFolder;

size_t num_entries(const TemporaryFolder& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder.path()), {}));
}

std::string read(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("a file takes its place when it is committed, and leaves nothing beside it") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "config.yaml";
  s2s::write_file_atomically(path.string(), "first");
  CHECK(read(path) == "first");
  s2s::AtomicFile file(path.string());
  file.write("sec");
  file.write("ond");
  CHECK(read(path) == "first");
  file.commit();
  CHECK(read(path) == "second");
  CHECK(num_entries(folder) == 1);
}

TEST_CASE("a stream is written where it is, and stays a stream") {
  const TemporaryFolder folder;
  const std::string pipe = folder / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  std::string received;
  std::thread reader([&] { received = read(pipe); });
  s2s::write_file_atomically(pipe, "through");
  reader.join();
  CHECK(received == "through");
  CHECK(fs::is_fifo(pipe));
  CHECK(num_entries(folder) == 1);
  const std::string full = folder / "full";
  fs::create_symlink("/dev/full", full);
  try {
    s2s::write_file_atomically(full, "lost");
    FAIL("nothing was thrown");
  } catch (const s2s::Error& error) {
    CHECK(error.id() == "io/write");
    CHECK(std::string(error.what()).find("No space left on device") != std::string::npos);
  }
  CHECK(fs::is_symlink(full));
  CHECK(fs::is_character_file("/dev/full"));
}

TEST_CASE("a file that is not committed leaves what was there") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "x";
  s2s::write_file_atomically(path.string(), "before");
  {
    s2s::AtomicFile file(path.string());
    file.write("half");
  }
  CHECK(read(path) == "before");
  CHECK(num_entries(folder) == 1);
}

TEST_CASE("a file has the permissions that the umask leaves") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "x";
  const mode_t old = umask(027);
  s2s::write_file_atomically(path.string(), "x");
  umask(old);
  struct stat status {};
  REQUIRE(stat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0640);
}

TEST_CASE("writing that fails half way says why, and nothing that was there is lost") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "weights";
  s2s::write_file_atomically(path.string(), "before");
  std::string message;
  {
    const s2s::test::FullDisk limit(1000);
    try {
      s2s::write_file_atomically(path.string(), std::string(5000, 'x'));
    } catch (const s2s::Error& error) {
      message = error.what();
    }
  }
  CHECK(message == "[io/write] " + path.string() +
                       ": cannot write: File too large; no existing file was changed");
  CHECK(read(path) == "before");
  CHECK(num_entries(folder) == 1);
}

TEST_CASE("a folder that is not there is an error with the next step") {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "none" / "x").string();
  try {
    s2s::write_file_atomically(path, "x");
    FAIL("no error");
  } catch (const s2s::Error& error) {
    CHECK(error.id() == "io/write");
    CHECK(error.exit_code() == s2s::ExitCode::kData);
    CHECK(error.message().find("No such file or directory; create its folder first") !=
          std::string::npos);
  }
}

TEST_CASE("a full disk and a read-only one have their own next steps") {
  CHECK(s2s::write_error("a", "cannot write", ENOSPC).message() ==
        "a: cannot write: No space left on device; free some space and run again; no existing file "
        "was changed");
  CHECK(s2s::write_error("a", "cannot write", EROFS).message().find("choose a folder") !=
        std::string::npos);
}

TEST_CASE("a folder is renamed in place of an empty one") {
  const TemporaryFolder folder;
  fs::create_directory(folder.path() / "a");
  std::ofstream(folder.path() / "a" / "x") << "1";
  s2s::rename_durably((folder.path() / "a").string(), (folder.path() / "b").string());
  CHECK(read(folder.path() / "b" / "x") == "1");
  fs::create_directory(folder.path() / "c");
  CHECK_THROWS_WITH_AS(
      s2s::rename_durably((folder.path() / "c").string(), (folder.path() / "b").string()),
      doctest::Contains("cannot rename"), s2s::Error);
}

TEST_CASE("what a killed process left is removed, and what is being written is not") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "x";
  const std::string left = folder / ".x.s2s-0a1b2c";
  std::ofstream(left) << "half";
  std::ofstream(folder / ".x.s2s-0a1b2c3") << "another's name";
  fs::create_symlink("x", folder.path() / ".y.s2s-000000");
  s2s::AtomicFile file(path.string());
  file.write("all");
  s2s::remove_partial_files(folder.path());
  CHECK_FALSE(fs::exists(left));
  file.commit();
  s2s::remove_partial_files(folder.path());
  CHECK(read(path) == "all");
  CHECK(num_entries(folder) == 3);
}

TEST_CASE("permissions of other files made meanwhile do not change") {
  const TemporaryFolder folder;
  std::atomic<bool> is_over = false;
  std::thread writer([&] {
    for (int i = 0; i < 300; ++i) {
      s2s::AtomicFile file(folder / "x");
    }
    is_over = true;
  });
  bool is_open_to_all = false;
  const mode_t old = umask(022);
  for (int i = 0; !is_over; ++i) {
    const std::string name = folder / std::to_string(i);
    const int file = open(name.c_str(), O_CREAT | O_WRONLY, 0666);
    struct stat status {};
    REQUIRE(fstat(file, &status) == 0);
    close(file);
    unlink(name.c_str());
    is_open_to_all = is_open_to_all || (status.st_mode & 0022) != 0;
  }
  umask(old);
  writer.join();
  CHECK_FALSE(is_open_to_all);
}

TEST_CASE("folders are made with those above them, and one that cannot be is an error") {
  const TemporaryFolder folder;
  s2s::make_folders(folder / "a/b/c/");
  s2s::make_folders(folder / "a/b/c");
  CHECK(fs::is_directory(folder / "a/b/c"));
  std::ofstream(folder / "file") << "x";
  CHECK_THROWS_WITH_AS(s2s::make_folders(folder / "file/d"),
                       doctest::Contains("cannot create the folder: Not a directory"), s2s::Error);
}
