"""usage: kubernetes_test.py S2S_RUN

s2s-run launch kubernetes and launch ray: the manifests fit the published schemas, the YAML is the
JSON, and the entry of a Ray job is Python. None is applied to a cluster.
"""

import ast
import json
import pathlib
import subprocess
import sys

SCHEMA = json.loads((pathlib.Path(__file__).parent / "kubernetes_schema.json").read_text())
DEFINITIONS = SCHEMA["definitions"]
TYPES = {"string": str, "integer": int, "boolean": bool, "array": list, "object": dict,
         "number": (int, float)}


def findings(value, schema, place):
    """What does not fit: unknown names, missing ones, types."""
    if "ref" in schema:
        definition = DEFINITIONS[schema["ref"]]
        if not isinstance(value, dict):
            return [f"{place}: expected an object"]
        out = [f"{place}.{name}: unknown in {schema['ref']}"
               for name in value if name not in definition["properties"]]
        out += [f"{place}.{name}: missing" for name in definition["required"] if name not in value]
        for name, entry in value.items():
            out += findings(entry, definition["properties"].get(name, {}), f"{place}.{name}")
        return out
    if "values" in schema:
        return [one for name, entry in value.items()
                for one in findings(entry, schema["values"], f"{place}.{name}")]
    kinds = schema.get("type")
    if kinds and not any(type(value) is bool if kind == "boolean" else
                         isinstance(value, TYPES[kind]) and type(value) is not bool
                         for kind in kinds):
        return [f"{place}: {value!r} is not of {kinds}"]
    if "enum" in schema and value not in schema["enum"]:
        return [f"{place}: {value!r} is none of {schema['enum']}"]
    if isinstance(value, list):
        return [one for index, entry in enumerate(value)
                for one in findings(entry, schema.get("items", {}), f"{place}[{index}]")]
    return []


def run(*words, code=0):
    done = subprocess.run([sys.argv[1], "launch", *words], capture_output=True, text=True)
    assert done.returncode == code, (words, done.returncode, done.stderr)
    return done.stdout if code == 0 else done.stderr


def check_kind(kind, objects_of):
    command = ["kubernetes", "--kind", kind, "--name", "run-1", "--image", "registry/s2s:1",
               "--nodes", "3", "-n", "8", "--cpus", "64", "--memory", "500Gi", "--namespace", "ml",
               "--env", "NOTE=yes: # 1", "--env", "NCCL_DEBUG=INFO"]
    if kind != "trainjob":
        command += ["--volume", "claim:/data"]
    command += ["--json", "--", "train", "/data/my.yaml", "a=b: c"]
    objects = json.loads(run(*command))
    assert [one["kind"] for one in objects] == objects_of, objects
    for one in objects:
        wrong = findings(one, {"ref": one["kind"]}, one["kind"])
        assert not wrong, "\n".join(wrong)
    words = [word for word in command if word != "--json"]
    check_yaml(run(*words), objects)
    return objects


def check_yaml(text, objects):
    try:
        import yaml
    except ImportError:
        print("skipped: no PyYAML here, the YAML is not read back (apt-get install python3-yaml)")
        return
    assert list(yaml.safe_load_all(text)) == objects, text


def check_manifests():
    _, job = check_kind("indexed-job", ["Service", "Job"])
    spec = job["spec"]
    assert (spec["completions"], spec["parallelism"], spec["completionMode"]) == (3, 3, "Indexed")
    assert spec["podFailurePolicy"]["rules"][0]["onExitCodes"]["values"] == [2, 3, 4, 5, 6]
    pod = spec["template"]["spec"]
    assert pod["restartPolicy"] == "Never" and pod["terminationGracePeriodSeconds"] == 300
    container = pod["containers"][0]
    variables = {one["name"]: one.get("value") for one in container["env"]}
    assert variables["MASTER_ADDR"] == "run-1-0.run-1" and variables["NUM_NODES"] == "3"
    assert container["command"][:5] == ["s2s-run", "launch", "node", "--num-ranks", "8"]
    assert container["resources"]["limits"]["nvidia.com/gpu"] == "8"

    [job] = check_kind("pytorchjob", ["PyTorchJob"])
    replicas = job["spec"]["pytorchReplicaSpecs"]
    assert {name: one["replicas"] for name, one in replicas.items()} == {"Master": 1, "Worker": 2}
    assert all(one["restartPolicy"] == "ExitCode" for one in replicas.values())
    command = replicas["Worker"]["template"]["spec"]["containers"][0]["command"]
    assert command[command.index("--retry-code") + 1] == "138"

    [job] = check_kind("trainjob", ["TrainJob"])
    assert job["spec"]["trainer"]["numNodes"] == 3 and job["spec"]["trainer"]["numProcPerNode"] == 8

    # The checker sees what is wrong.
    job["spec"]["trainer"]["numNode"] = "3"
    job["spec"]["trainer"]["numNodes"] = "3"
    assert len(findings(job, {"ref": "TrainJob"}, "TrainJob")) == 2


def check_refusals():
    words = ("kubernetes", "--image", "i", "--name")
    assert "[launch/job] --name 'Run_1'" in run(*words, "Run_1", "--", "train", "x", code=2)
    assert "belong to its runtime" in run("kubernetes", "--image", "i", "--kind", "trainjob",
                                          "--volume", "a:/b", "--", "train", "x", code=2)
    assert "[launch/ranks]" in run("node", "--", "train", "x", code=2)


def check_ray():
    text = run("ray", "-n", "4", "--gpus-per-rank", "0", "--env", "NOTE=it's \"1\"", "--", "train",
               "my.yaml", "a='b'")
    tree = ast.parse(text)
    values = {one.targets[0].id: ast.literal_eval(one.value) for one in tree.body
              if isinstance(one, ast.Assign)}
    assert values["COMMAND"] == ["s2s-run", "train", "my.yaml", "a='b'"], values
    assert values["VARIABLES"] == {"NOTE": "it's \"1\""} and values["NUM_RANKS"] == 4


check_manifests()
check_refusals()
check_ray()
print("ok: manifests of Kubernetes", SCHEMA["versions"])
