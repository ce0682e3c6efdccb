"""Small files of torch.save, and the same tensors as safetensors (torch 2.11).

    python tests/reference/torch_files.py --out tests/reference/data

torch_state.bin          a state dict: element types, views that share storages, parameters
torch_state.safetensors  its tensors, each laid out by itself
torch_lightning.ckpt     the same state dict inside of what Lightning's trainer saves
torch_shards/            the same in two files with pytorch_model.bin.index.json
torch_hostile_*.bin      pickles that would run something; reading must refuse each by name. Loading
                         one of these with weights_only=False only prints a line.
"""

import argparse
import collections
import json
import os
import pickle
import zipfile
from pathlib import Path

import torch
from safetensors.torch import save_file


def state_dict():
    generator = torch.Generator().manual_seed(5)
    draw = lambda *sizes: torch.randn(*sizes, generator=generator)
    base = draw(6, 8)
    module = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(draw(*parameter.shape))
    state = module.state_dict()  # an OrderedDict with the attribute _metadata
    state["whole"] = base
    state["transposed"] = base.t()
    state["columns"] = base[:, 2:5]
    state["every_second_row"] = base[1::2]
    state["expanded"] = draw(4, 1).expand(4, 3)
    state["same"] = base
    state["parameter"] = torch.nn.Parameter(draw(5))
    state["number"] = torch.tensor(2.5)
    state["empty"] = torch.zeros(3, 0)
    state["half"] = draw(7).half()
    state["bfloat16"] = draw(3, 5).bfloat16()
    state["double"] = draw(3).double()
    state["float8"] = draw(9).to(torch.float8_e4m3fn)
    state["float8_wide"] = draw(9).to(torch.float8_e5m2)
    state["int64"] = torch.tensor([-(2**40), 0, 2**40])
    state["int32"] = torch.tensor([-5, 7], dtype=torch.int32)
    state["int16"] = torch.tensor([-300, 300], dtype=torch.int16)
    state["int8"] = torch.tensor([-5, 7], dtype=torch.int8)
    state["uint8"] = torch.tensor([5, 250], dtype=torch.uint8)
    state["uint16"] = torch.tensor([5, 65535], dtype=torch.uint16)
    state["bool"] = torch.tensor([[True, False], [False, True]])
    return state


def lightning(state):
    return {
        "epoch": 3,
        "global_step": 1200,
        "pytorch-lightning_version": "2.4.0",
        "state_dict": state,
        "loops": {"fit_loop": {"state_dict": {}, "epoch_progress": {"current": {"ready": 4}}}},
        "callbacks": {"ModelCheckpoint{'monitor': None}": {"best_model_score": torch.tensor(0.25)}},
        "optimizer_states": [
            {"state": {0: {"exp_avg": torch.zeros(2)}}, "param_groups": [{"lr": 1e-3}]}
        ],
        "lr_schedulers": [{"base_lrs": [1e-3], "last_epoch": 1200, "huge": 2**70, "none": None}],
        "hyper_parameters": {"betas": (0.9, 0.98), "names": {"a", "b"}, "bytes": b"\x00\xff"},
    }


def write_shards(state, folder: Path):
    folder.mkdir(exist_ok=True)
    names = sorted(state)
    weight_map = {}
    for number, part in enumerate((names[::2], names[1::2]), start=1):
        file = f"pytorch_model-{number:05d}-of-00002.bin"
        torch.save({name: state[name] for name in part}, folder / file)
        weight_map.update({name: file for name in part})
    index = {"metadata": {"total_size": 0}, "weight_map": weight_map}
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps(index, indent=1) + "\n")


class Calls:
    """Pickles as a call of `function`."""

    def __init__(self, function, *arguments):
        self.call = (function, arguments)

    def __reduce__(self):
        return self.call


def hostile_pickles():
    harmless = "echo a pickle was executed"
    counter = collections.Counter("abc")
    return {
        "system": pickle.dumps({"w": Calls(os.system, harmless)}, protocol=2),
        "system_protocol_4": pickle.dumps({"w": Calls(os.system, harmless)}, protocol=4),
        "eval": pickle.dumps({"w": Calls(eval, f"print({harmless!r})")}, protocol=2),
        "getattr": pickle.dumps({"w": Calls(getattr, "text", "upper")}, protocol=2),
        "object": pickle.dumps({"w": counter}, protocol=2),
        # NEWOBJ of a class that is known as a global, and a call of something that is no function.
        "new_object": b"\x80\x02}X\x01\x00\x00\x00wccollections\nOrderedDict\n)\x81s.",
        "call_of_type": b"\x80\x02}X\x01\x00\x00\x00wctorch\nFloatStorage\n)Rs.",
        "instance": b"\x80\x02}X\x01\x00\x00\x00w(ios\nsystem\ns.",
        "extension": b"\x80\x02}X\x01\x00\x00\x00w\x82\x01s.",
    }


def write_zip(path: Path, entries):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, data in entries.items():
            archive.writestr(zipfile.ZipInfo(f"archive/{name}"), data)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    state = state_dict()
    torch.save(state, out / "torch_state.bin")
    plain = {name: tensor.detach().contiguous().clone() for name, tensor in state.items()}
    save_file(plain, out / "torch_state.safetensors")
    (out / "torch_state.safetensors").chmod(0o644)
    torch.save(lightning(state), out / "torch_lightning.ckpt")
    write_shards(state, out / "torch_shards")
    for name, data in hostile_pickles().items():
        write_zip(out / f"torch_hostile_{name}.bin", {"data.pkl": data, "byteorder": b"little"})


if __name__ == "__main__":
    main()
