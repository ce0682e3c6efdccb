#include "run/run_processes.h"

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "comm/comm_errors.h"
#include "comm/group_connection.h"
#include "comm/rendezvous_store.h"
#include "config/config_tree.h"
#include "config/secrets.h"
#include "plan/mesh.h"
#include "s2s/plugin_note.h"

namespace s2s::run {
namespace {

void check_started(const TrainerBlock& trainer, const LaunchEnvironment& launch) {
  const int64_t num_machines = std::max<int64_t>(1, launch.size / launch.local_size);
  std::optional<int64_t> devices;
  if (trainer.devices) devices = num_devices(Config::scalar(*trainer.devices));
  const bool is_as_asked = devices.value_or(launch.local_size) == launch.local_size &&
                           trainer.num_nodes.value_or(num_machines) == num_machines;
  if (!is_as_asked) {
    throw comm_errors::started(devices, trainer.num_nodes, launch.local_size, num_machines);
  }
}

const char* device_name(at::DeviceType type) { return type == at::kCPU ? "CPU" : "GPU"; }

/// Returns the version, the LibTorch version, and the file of every loaded plugin.
std::vector<AgreedFact> program_facts(const PluginHost& host) {
  std::vector<AgreedFact> facts = {{"s2s-run", S2S_VERSION_TEXT},
                                   {"LibTorch", S2S_TORCH_VERSION_TEXT}};
  for (const LoadedPlugin& plugin : host.loaded()) {
    facts.push_back({"plugin " + plugin.facts.name,
                     plugin.facts.version + " sha1 " + plugin.sha1.substr(0, 12)});
  }
  return facts;
}

}  // namespace

RunProcesses::RunProcesses(const PluginHost& host, const Registries& registries,
                           const LaunchEnvironment& launch, const std::vector<AgreedFact>& facts,
                           const RendezvousSettings& settings, const Config& communicator,
                           const FlightSettings& flight)
    : launch_(launch) {
  registries.get<Communicator>(communicator.find("name")->text(), communicator, "communicator");
  std::vector<AgreedFact> all = program_facts(host);
  all.insert(all.end(), facts.begin(), facts.end());
  rendezvous_ = std::make_unique<Rendezvous>(launch, all, settings);
  recorder_ = std::make_unique<FlightRecorder>(rendezvous_->process(), flight);
  waits_ = std::make_unique<CommWaits>(recorder_.get());
  communicator_place_ = rendezvous_->process();
  communicator_place_.timeout = recorder_->time_limit(communicator_place_.timeout);
  if (launch.size == 1) {
    store_of_one_ = open_store_of_one();
    communicator_place_.store = store_of_one_.get();
  }
  ProcessContext context;
  context.path = "communicator";
  context.process = &communicator_place_;
  world_ = connect_group("world", launch.rank,
                         [&] { return registries.create<Communicator>(communicator, context); });
  world_->set_observer(waits_.get());
  first_ = std::make_unique<Rank0>(rendezvous_->process());
}

RunProcesses::RunProcesses()
    : rendezvous_(
          std::make_unique<Rendezvous>(launch_, std::vector<AgreedFact>(), RendezvousSettings())),
      world_(make_solo_communicator({})),
      first_(std::make_unique<Rank0>(rendezvous_->process())) {}

RunProcesses::RunProcesses(const FlightSettings& flight) : RunProcesses() {
  recorder_ = std::make_unique<FlightRecorder>(rendezvous_->process(), flight);
}

RunProcesses::~RunProcesses() = default;

std::unique_ptr<RunProcesses> meet_other_ranks(Run& setup, std::vector<AgreedFact> facts,
                                               bool records_alone) {
  const LaunchEnvironment launch = read_launch_environment();
  const RunOptions& options = setup.builder().settings();
  check_started(options.trainer, launch);
  setup.builder().keep_global_batch(launch.size);
  FlightSettings flight = {options.exp_manager.run_folder()};
  flight.first_step_timeout = milliseconds(options.communicator.first_limit_s());
  flight.slow_step = milliseconds(options.exp_manager.slow_step_s);
  std::string name = options.communicator.name;
  if (launch.size == 1 && name == "auto") {
    return records_alone ? std::make_unique<RunProcesses>(flight)
                         : std::make_unique<RunProcesses>();
  }
  const at::DeviceType device = setup.builder().device().type();
  const auto& choose = setup.program().communicator;
  if (name == "auto" && choose) name = choose(device != at::kCPU);
  // The values are sent over the network and appear in messages, so secrets are hidden.
  const Config facts_of_config = shown_config(setup.config());
  for (const auto& [path, value] : config_values(facts_of_config)) facts.push_back({path, value});
  const RendezvousSettings settings = {milliseconds(options.communicator.start_timeout_s),
                                       milliseconds(options.communicator.timeout_s)};
  auto processes =
      std::make_unique<RunProcesses>(setup.host(), setup.registries(), launch, facts, settings,
                                     communicator_component(setup.config(), name), flight);
  const at::DeviceType its_device = processes->world().device_type();
  if (its_device != device) {
    throw comm_errors::other_device(name, device_name(its_device), device_name(device));
  }
  setup.builder().join(processes->rendezvous().process(), processes->world());
  processes->waits()->set_device(setup.builder().device());
  setup.builder().set_entropy(std::stoull(
      processes->first().run("seeds", [&] { return std::to_string(setup.builder().entropy()); })));
  return processes;
}

void require_one_process(const std::string& command) {
  const LaunchEnvironment launch = read_launch_environment();
  if (launch.size > 1) throw comm_errors::one_process(command, launch.size);
}

std::unique_ptr<ParallelStrategy> build_strategy(const Run& setup, const RunProcesses& processes) {
  std::unique_ptr<ParallelStrategy> strategy = setup.builder().strategy();
  require_world_size(strategy->mesh(), processes.launch().size);
  return strategy;
}

}  // namespace s2s::run
