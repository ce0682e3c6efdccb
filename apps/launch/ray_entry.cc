#include "launch/ray_entry.h"

#include <nlohmann/json.hpp>

#include "launch/exported_environment.h"

namespace s2s::launch {
namespace {

constexpr const char* kEntry = R"PY(

@ray.remote(max_restarts=0)
class Rank:
    def place(self):
        """-> the node, its address, and a port that was free on it."""
        with socket.socket() as listener:
            listener.bind(("", 0))
            port = listener.getsockname()[1]
        return ray.get_runtime_context().get_node_id(), ray.util.get_node_ip_address(), port

    def start(self, variables):
        # Ray blocks SIGINT in its workers, and processes inherit that.
        def unblock():
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT, signal.SIGTERM])
        self.process = subprocess.Popen(COMMAND, env={**os.environ, **variables},
                                        preexec_fn=unblock)

    def code(self):
        """-> the exit code as in a shell, or None."""
        code = self.process.poll()
        return code if code is None or code >= 0 else 128 - code

    def stop(self):
        self.process.terminate()


def main():
    ray.init()
    bundle = {name: number for name, number in RESOURCES.items() if number}
    group = ray.util.placement_group([bundle] * NUM_RANKS, strategy="PACK")
    ray.get(group.ready())
    ranks = [Rank.options(
        num_cpus=RESOURCES["CPU"], num_gpus=RESOURCES["GPU"], max_concurrency=2,
        scheduling_strategy=PlacementGroupSchedulingStrategy(group, index)).remote()
        for index in range(NUM_RANKS)]
    places = ray.get([rank.place.remote() for rank in ranks])
    # Ranks of a node have numbers that follow each other.
    order = sorted(range(NUM_RANKS), key=lambda index: places[index][0])
    ranks, places = [ranks[i] for i in order], [places[i] for i in order]
    nodes = [node for node, _, _ in places]
    token = secrets.token_hex(16)
    for number, rank in enumerate(ranks):
        node = nodes[number]
        ray.get(rank.start.remote({**VARIABLES, **{
            "RANK": str(number), "WORLD_SIZE": str(NUM_RANKS),
            "LOCAL_RANK": str(number - nodes.index(node)),
            "LOCAL_WORLD_SIZE": str(nodes.count(node)),
            "MASTER_ADDR": places[0][1], "MASTER_PORT": str(places[0][2]),
            "S2S_JOB_TOKEN": token}}))
    codes = [None] * NUM_RANKS
    failed = []
    while None in codes:
        time.sleep(1)
        codes = ray.get([rank.code.remote() for rank in ranks])
        new = [n for n, code in enumerate(codes) if code not in (None, 0, 8) and n not in failed]
        if new and not failed:
            for rank in ranks:
                rank.stop.remote()
        failed += new
    causes = [number for number in failed if codes[number] != 7] or failed
    if causes:
        print(f"error: [launch/rank-failed] rank {causes[0]} of {NUM_RANKS} ended with exit code "
              f"{codes[causes[0]]}", file=sys.stderr)
    sys.exit(codes[causes[0]] if causes else max(codes))


main()
)PY";

}  // namespace

std::string ray_entry(const RayJob& job) {
  using nlohmann::json;
  json command = json::array({job.program});
  for (const std::string& word : job.words) command.push_back(word);
  json variables = json::object();
  for (const std::string& one : job.environment) {
    const auto [name, value] = parse_assignment(one, "--env");
    variables[name] = value;
  }
  const json resources = {{"CPU", job.num_cpus}, {"GPU", job.num_gpus}};
  return "\"\"\"Starts one rank of s2s on each placement. Submit it:\n\n"
         "    ray job submit --working-dir . -- python FILE\n\"\"\"\n\n"
         "import os\nimport secrets\nimport signal\nimport socket\nimport subprocess\nimport sys\n"
         "import time\n\nimport ray\n"
         "from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy\n\n"
         "COMMAND = " +
         command.dump() + "\nNUM_RANKS = " + std::to_string(job.num_ranks) +
         "\nRESOURCES = " + resources.dump() + "  # of each rank\nVARIABLES = " + variables.dump() +
         "\n" + kEntry;
}

}  // namespace s2s::launch
