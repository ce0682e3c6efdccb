"""usage: lhotse_codes_check.py BIN_FOLDER

Lhotse reads what `s2s-run data encode` writes: the codes of every cut as an array in time, its
turns and its audio. A Shar that `data shar` writes of it has the same codes. Exit code 77 without
lhotse.
"""

import io
import math
import pathlib
import subprocess
import sys
import tarfile
import tempfile

try:
    import numpy as np
    from lhotse import CutSet
    from lhotse.array import TemporalArray
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

CODEC = ("~model.codec.sample_rate", "model.codec={name: mimi, sampling_rate: 16000, "
         "upsampling_ratios: [8, 8, 10], hidden_size: 16, num_filters: 2, codebook_size: 32, "
         "codebook_dim: 8, vector_quantization_hidden_dimension: 8, num_quantizers: 3, "
         "upsample_groups: 16, num_hidden_layers: 1, intermediate_size: 16, "
         "num_attention_heads: 2, num_key_value_heads: 1, sliding_window: 20}")
FRAME_S = 0.08


def run(program, *words):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, f"{words}: exit {done.returncode}\n{done.stdout}{done.stderr}"


def stored_codes(folder):
    """The whole arrays, by cut."""
    arrays = {}
    for path in sorted(folder.glob("target_codes.*.tar")):
        with tarfile.open(path) as archive:
            for member in archive:
                if member.name.endswith(".npy"):
                    data = archive.extractfile(member).read()
                    arrays[member.name[:-len(".npy")]] = np.load(io.BytesIO(data))
    return arrays


def check(folder, arrays):
    cuts = CutSet.from_shar(in_dir=folder)
    num_cuts = 0
    for cut in cuts:
        num_cuts += 1
        stored = arrays[cut.id]
        assert isinstance(cut.target_codes, TemporalArray), cut
        assert math.isclose(cut.target_codes.frame_shift, FRAME_S), cut
        assert stored.dtype == np.int16 and stored.shape[1] == 3, stored.dtype
        assert stored.shape[0] == math.ceil(round(cut.duration / FRAME_S, 6)), (cut, stored.shape)
        assert 0 <= stored.min() and stored.max() < 32 and stored.max() > 0
        # Lhotse rounds the duration to whole frames.
        codes = cut.load_target_codes()
        assert len(stored) - 1 <= len(codes) <= len(stored), (codes.shape, stored.shape)
        assert np.array_equal(codes, stored[: len(codes)])
        assert cut.target_codes_of["num_frames"] == len(stored)
        assert cut.load_audio().shape == (1, cut.num_samples) and cut.supervisions
    assert num_cuts == len(arrays) > 0
    return num_cuts


def main():
    program = pathlib.Path(sys.argv[1]) / "s2s-run"
    config = pathlib.Path(__file__).resolve().parents[2] / "configs/tiny.yaml"
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        run(program, "data", "encode", config, folder / "encoded", "--shard-size", 5,
            f"tiny.data={folder / 'set'}", *CODEC)
        arrays = stored_codes(folder / "encoded")
        num_cuts = check(folder / "encoded", arrays)
        run(program, "data", "shar", folder / "encoded", folder / "again", "--shard-size", 7,
            "--shuffle", "--fields", "recording=flac,target_audio=flac,target_codes=numpy")
        again = stored_codes(folder / "again")
        assert again.keys() == arrays.keys()
        assert all(np.array_equal(again[name], arrays[name]) for name in arrays)
        check(folder / "again", again)
    print(f"ok: lhotse reads the codes of {num_cuts} cuts")


if __name__ == "__main__":
    main()
