#include "s2s_run/run_processes.h"

#include "config/config_changes.h"
#include "s2s/mesh.h"
#include "s2s/plugin_note.h"

namespace s2s::run {

std::vector<AgreedFact> program_facts(const PluginHost& host) {
  std::vector<AgreedFact> facts = {{"s2s-run", S2S_VERSION_TEXT},
                                   {"LibTorch", S2S_TORCH_VERSION_TEXT}};
  for (const LoadedPlugin& plugin : host.loaded()) {
    facts.push_back({"plugin " + plugin.facts.name,
                     plugin.facts.version + " sha1 " + plugin.sha1.substr(0, 12)});
  }
  return facts;
}

RunProcesses::RunProcesses(const PluginHost& host, const Registries& registries,
                           const LaunchPlace& place, const std::vector<AgreedFact>& facts,
                           const RendezvousSettings& settings, const Config& communicator,
                           const FlightSettings& flight)
    : place_(place) {
  registries.get<Communicator>(communicator.find("name")->text(), communicator, "communicator");
  std::vector<AgreedFact> all = program_facts(host);
  all.insert(all.end(), facts.begin(), facts.end());
  rendezvous_ = std::make_unique<Rendezvous>(place, all, settings);
  if (place.size > 1) recorder_ = std::make_unique<FlightRecorder>(rendezvous_->process(), flight);
  BuildContext context;
  context.path = "communicator";
  context.process = &rendezvous_->process();
  world_ = registries.create<Communicator>(communicator, context);
  world_->set_observer(recorder_.get());
}

void meet_other_ranks(const RunSetup& setup) {
  const LaunchPlace place = read_launch_environment();
  if (place.size == 1) return;
  const MeshShape mesh = setup.builder().strategy()->mesh();
  std::vector<AgreedFact> facts = program_facts(setup.host());
  for (const auto& [path, value] : config_values(setup.config())) facts.push_back({path, value});
  const Rendezvous met(place, facts, {});
  require_world_size(mesh, place.size);
}

}  // namespace s2s::run
