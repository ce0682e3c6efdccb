// s2s-run launch diagnose FOLDER: reads the ranks' flight records and compares them.

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "flight/flight_diagnosis.h"
#include "s2s/error.h"
#include "s2s/foreign_text.h"
#include "s2s_run/columns.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

Error no_records_error(const std::string& folder) {
  return {ExitCode::kData, "launch/no-records",
          folder +
              " has no flight records\n  expected:  flight.RANK.json, which the ranks of a "
              "run write when it fails\n  next:      give the run's folder; a run that hangs "
              "writes them at SIGUSR2: kill -USR2 PROCESS"};
}

Error bad_record_error(const std::string& file, const std::string& reason) {
  return {ExitCode::kData, "launch/bad-record",
          file + " is not a flight record: " + reason +
              "\n  next:      use the version of s2s-run that wrote it, or move the file away"};
}

bool is_record(const std::string& name) {
  const std::string begin = "flight.", end = ".json";
  if (!name.starts_with(begin) || !name.ends_with(end)) return false;
  const std::string rank = name.substr(begin.size(), name.size() - begin.size() - end.size());
  return !rank.empty() && std::all_of(rank.begin(), rank.end(), [](unsigned char letter) {
    return std::isdigit(letter) != 0;
  });
}

RankFlight read_record(const fs::path& file) {
  try {
    return parse_flight(read_small_file(file.string()));
  } catch (const std::exception& error) {
    throw bad_record_error(file.string(), error.what());
  }
}

/// Reads all records, sorted by rank. Errors: [launch/no-records], [launch/bad-record].
std::vector<RankFlight> read_records(const std::string& folder) {
  std::vector<RankFlight> flights;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, none)) {
    if (is_record(entry.path().filename().string())) flights.push_back(read_record(entry.path()));
  }
  if (flights.empty()) throw no_records_error(folder);
  std::sort(flights.begin(), flights.end(),
            [](const RankFlight& a, const RankFlight& b) { return a.rank < b.rank; });
  return flights;
}

/// World size of the most recent run; an earlier run may have had more ranks.
int64_t size_of_run(const std::vector<RankFlight>& flights) {
  const auto newest = std::max_element(
      flights.begin(), flights.end(),
      [](const RankFlight& a, const RankFlight& b) { return a.written_s < b.written_s; });
  return newest->size;
}

std::string state_text(const RankFlight& flight) {
  if (flight.state == "running") return "running (" + flight.reason + ")";
  return flight.error.empty() ? flight.state : flight.error;
}

void print_flights(const std::vector<RankFlight>& flights, const FlightDiagnosis& diagnosis,
                   int64_t size) {
  std::printf("verdict:   %s\n", printable(diagnosis.verdict).c_str());
  for (size_t i = 1; i < diagnosis.findings.size(); ++i) {
    std::printf("also:      %s\n", printable(diagnosis.findings[i].text).c_str());
  }
  std::printf("records:   %zu of %ld ranks\n\n", flights.size(), size);
  std::fflush(stdout);
  std::vector<std::vector<std::string>> rows = {{"rank", "host", "process", "position", "state"}};
  for (const RankFlight& flight : flights) {
    rows.push_back({std::to_string(flight.rank), flight.host, std::to_string(flight.process),
                    position_text(flight), state_text(flight)});
  }
  print_columns(rows);
}

void print_flights_json(const std::vector<RankFlight>& flights, const FlightDiagnosis& diagnosis,
                        int64_t size) {
  ordered_json findings = ordered_json::array(), ranks = ordered_json::array();
  for (const FlightFinding& finding : diagnosis.findings) {
    findings.push_back({{"kind", finding.kind}, {"ranks", finding.ranks}, {"text", finding.text}});
  }
  for (const RankFlight& flight : flights) {
    ranks.push_back({{"rank", flight.rank},
                     {"host", flight.host},
                     {"process", flight.process},
                     {"step", flight.step},
                     {"phase", flight.phase},
                     {"stands_at", position_text(flight)},
                     {"state", flight.state},
                     {"error", flight.error},
                     {"reason", flight.reason},
                     {"batch", flight.batch}});
    for (const FlownThread& thread : flight.threads) {
      ranks.back()["threads"].push_back({{"id", thread.id},
                                         {"name", thread.name},
                                         {"state", thread.state},
                                         {"stack", thread.stack}});
    }
  }
  const ordered_json out = {
      {"size", size}, {"verdict", diagnosis.verdict}, {"findings", findings}, {"ranks", ranks}};
  std::cout << out.dump(2, ' ', false, ordered_json::error_handler_t::replace) << '\n';
}

/// The batch and the stacks of each rank that recorded them.
void print_stacks(const std::vector<RankFlight>& flights) {
  for (const RankFlight& flight : flights) {
    std::printf("\nrank %ld: %s\n", flight.rank, printable(flight.reason).c_str());
    if (!flight.batch.empty()) {
      std::printf("  batch:   %s\n", printable_name(joined(flight.batch, ", ")).c_str());
    }
    for (const FlownThread& thread : flight.threads) {
      std::printf("  thread %ld %s, %s\n", thread.id, printable_name(thread.name).c_str(),
                  printable_name(thread.state).c_str());
      if (thread.stack.empty()) std::printf("    no answer\n");
      for (const std::string& function : thread.stack) {
        std::printf("    %s\n", printable_name(function).c_str());
      }
    }
  }
}

struct DiagnoseArguments {
  std::string folder;
  bool stacks = false;
};

int diagnose(const DiagnoseArguments& arguments, const Invocation& invocation) {
  std::vector<RankFlight> flights = read_records(arguments.folder);
  const int64_t size = size_of_run(flights);
  const auto is_older = [size](const RankFlight& flight) { return flight.rank >= size; };
  flights.erase(std::remove_if(flights.begin(), flights.end(), is_older), flights.end());
  const FlightDiagnosis diagnosis = diagnose_flights(flights, size);
  (invocation.json ? print_flights_json : print_flights)(flights, diagnosis, size);
  if (arguments.stacks && !invocation.json) print_stacks(flights);
  return 0;
}

}  // namespace

void setup_launch_diagnose(const Command& group) {
  const Command command = group.command(
      "diagnose", "compare the flight records of a failed or hung run to find the missing rank");
  DiagnoseArguments& arguments = command.runs(diagnose);
  command.option("folder", arguments.folder, "run folder that contains flight.RANK.json")
      .required();
  command.flag("--stacks", arguments.stacks,
               "also print the batch and the stacks of all threads, which a slow step and SIGUSR2 "
               "record");
  command.json("print one JSON object");
}

}  // namespace s2s::run
