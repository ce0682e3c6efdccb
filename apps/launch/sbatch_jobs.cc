#include "launch/sbatch_jobs.h"

#include <poll.h>
#include <sys/random.h>

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include "launch/remote_shell.h"
#include "launch/shell_words.h"
#include "s2s/error.h"

namespace s2s::launch {
namespace {

Error sbatch_error(const std::string& command, const std::string& output) {
  return {ExitCode::kCheckFailed, "launch/sbatch",
          "the job was not submitted: " + output + "\n  command:   " + command +
              "\n  next:      correct the option that sbatch names, or submit the script yourself"};
}

/// Runs a command, and adds what it prints on both outputs. Returns its exit code.
int run_command(const std::vector<std::string>& words, std::string& output) {
  sigset_t mask;
  ::sigprocmask(SIG_SETMASK, nullptr, &mask);
  ChildProgram command(words, mask);
  while (!command.has_ended() || command.output() >= 0 || command.errors() >= 0) {
    pollfd ends[] = {{command.output(), POLLIN, 0}, {command.errors(), POLLIN, 0}};
    ::poll(ends, 2, 100);
    output += command.read(command.output());
    output += command.read(command.errors());
  }
  if (command.code() == 127 && output.empty()) output = words.front() + " was not found";
  while (!output.empty() && output.back() == '\n') output.pop_back();
  return command.code();
}

/// "4711" or "4711;cluster" on the last line.
std::string job_of(const std::string& output) {
  const size_t line = output.rfind('\n') == std::string::npos ? 0 : output.rfind('\n') + 1;
  const std::string id = output.substr(line, output.find(';', line) - line);
  for (const char c : id) {
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) return "";
  }
  return id;
}

}  // namespace

uint64_t random_seed() {
  uint32_t bits = 0;
  if (::getrandom(&bits, sizeof(bits), 0) != sizeof(bits)) {
    throw std::system_error(errno, std::generic_category(), "getrandom");
  }
  return bits >> 1;
}

std::vector<SubmittedJob> submit_jobs(const std::string& script, int num_jobs, bool draws_seeds) {
  std::vector<SubmittedJob> jobs;
  for (int i = 0; i < num_jobs; ++i) {
    std::vector<std::string> words = {"sbatch", "--parsable"};
    if (!jobs.empty()) words.push_back("--dependency=afterany:" + jobs.back().id);
    words.push_back(script);
    SubmittedJob job;
    if (draws_seeds) {
      job.seed = random_seed();
      words.push_back(std::to_string(*job.seed));
    }
    const std::string command = shell_words(words);
    std::string output;
    const int status = run_command(words, output);
    job.id = job_of(output);
    if (status != 0 || job.id.empty()) throw sbatch_error(command, output);
    std::printf("job %s%s%s\n", job.id.c_str(), job.seed ? ", data.train_ds.seed=" : "",
                job.seed ? std::to_string(*job.seed).c_str() : "");
    std::fflush(stdout);
    jobs.push_back(job);
  }
  return jobs;
}

}  // namespace s2s::launch
