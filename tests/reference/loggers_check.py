"""Reads what the loggers write with the software that it is for.

    python tests/reference/loggers_check.py build/bin/s2s-run [--keep FOLDER]

Trains configs/tiny.yaml with all loggers, named as NeMo and Hugging Face do. TensorBoard's
EventAccumulator, wandb's DataStore, MLflow's client and Python's csv module must then give every
value of metrics.jsonl, once, and the configuration, texts, audio and images. The same is required
after the run has resumed from an older checkpoint and repeated some steps. `wandb sync` must send
all of it to a server (wandb_server.py), and of two ranks only one may write.
Exit code 77 where one of the packages is missing.
"""

import argparse
import csv
import hashlib
import io
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import wave
from pathlib import Path

os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")
os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
try:
    import mlflow
    import wandb
    from PIL import Image
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.plugins.hparams import metadata as hparams_metadata
    from wandb.proto import wandb_internal_pb2

    wandb._assert_is_internal_process = True
    from wandb.sdk.internal.datastore import DataStore
    from wandb.sdk.lib.proto_util import dict_from_proto_list
except ImportError as missing:
    print(f"skipped: {missing}; pip install -r tests/reference/requirements-peers.txt")
    sys.exit(77)

from wandb_server import WandbServer

ROOT = Path(__file__).resolve().parents[2]
STEPS = 10
OPTIONS = [
    "exp_manager.create_tensorboard_logger=true", "exp_manager.create_wandb_logger=true",
    "exp_manager.wandb_logger_kwargs={name: tiny run, project: loggers, resume: true, tags: [a]}",
    "trainer.report_to=[mlflow]", "exp_manager.loggers=[{name: csv}]",
    "exp_manager.log_histograms=true", "trainer.limit_val_generate_batches=1",
]
CLIPS = ["user", "answer"]


def train(run, folder, name="run", launcher=(), more=()):
    words = [run, *launcher, "train", ROOT / "configs/tiny.yaml", f"tiny.data={folder / 'data'}",
             f"tiny.run={folder / name}", *OPTIONS, *more]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode != 0 or "receives no further values" in done.stderr:
        sys.exit(f"train: exit code {done.returncode}\n{done.stdout}{done.stderr}")


def expected_values(folder):
    """name -> {step: value}, of metrics.jsonl."""
    values = {}
    for line in (folder / "metrics.jsonl").read_text().splitlines():
        record = json.loads(line)
        step, validated = record.pop("step"), record.pop("validation", None)
        record.pop("batch", None)  # a text: the hash of the batch's ids
        for name, value in record.items():
            if validated:
                values.setdefault(f"val_{name}_{validated}", {})[step] = value
                values.setdefault(f"val_{name}", {})[step] = value  # there is one set
            else:
                name = "train_loss" if name == "loss" else name
                values.setdefault(name, {})[step] = value
    assert sorted(values["train_loss"]) == list(range(1, STEPS + 1)), values["train_loss"]
    assert sorted(values["val_text_loss_dev"]) == [5, 10]
    return values


def compare(reader, found, expected, tolerance=0.0):
    assert set(found) == set(expected), f"{reader}: {set(found) ^ set(expected)}"
    for name, steps in expected.items():
        assert sorted(found[name]) == sorted(steps), f"{reader}: {name}: {sorted(found[name])}"
        for step, value in steps.items():
            same = math.isclose(found[name][step], value, rel_tol=tolerance)
            assert same, f"{reader}: {name}, step {step}: {found[name][step]}, expected {value}"


def once(reader, name, pairs):
    values = dict(pairs)
    assert len(values) == len(pairs), f"{reader}: {name} has a step twice: {pairs}"
    return values


def check_wav(data):
    with wave.open(io.BytesIO(data)) as audio:
        assert audio.getnchannels() == 1 and audio.getsampwidth() == 2 and audio.getnframes() > 0
        return audio.getframerate(), audio.getnframes()


def events_of(folder):
    events = EventAccumulator(str(folder), size_guidance={
        kind: 0 for kind in ("scalars", "images", "audio", "histograms", "tensors")})
    events.Reload()
    return events


def check_tensorboard(folder, expected):
    events = events_of(folder)
    tags = events.Tags()
    found = {tag: once("tensorboard", tag, [(e.step, e.value) for e in events.Scalars(tag)])
             for tag in tags["scalars"]}
    compare("tensorboard", found, expected, 1e-6)
    for clip in CLIPS:
        for index in range(2):
            for audio in events.Audio(f"val_dev/{index}/{clip}"):
                assert check_wav(audio.encoded_audio_string) == (
                    audio.sample_rate, audio.length_frames)
            images = events.Images(f"val_dev/{index}/{clip}_spectrogram")
            assert [image.step for image in images] == [5, 10]
            for image in images:
                picture = Image.open(io.BytesIO(image.encoded_image_string))
                picture.load()
                assert picture.size == (image.width, image.height), picture.size
    texts = events.Tensors("val_dev/0/text/text_summary")
    assert [text.step for text in texts] == [5, 10]
    assert b"reference: " in texts[0].tensor_proto.string_val[0]
    assert b"duplex_s2s" in events.Tensors("config/text_summary")[0].tensor_proto.string_val[0]
    assert len(tags["histograms"]) > 10
    for tag in tags["histograms"]:
        histograms = events.Histograms(tag)
        assert tag.startswith("parameters/") and [h.step for h in histograms] == [5, 10]
        for event in histograms:
            value = event.histogram_value
            assert sum(value.bucket) == value.num > 0 and value.min <= value.max
            assert len(value.bucket) == len(value.bucket_limit)
    session = hparams_metadata.parse_session_start_info_plugin_data(
        events.SummaryMetadata(hparams_metadata.SESSION_START_INFO_TAG).plugin_data.content)
    assert session.hparams["model.optimizer.lr"].number_value == 1e-3
    files = list(folder.glob("events.out.tfevents.*"))
    print(f"tensorboard: {len(files)} files, {len(found)} scalars, {len(tags['audio'])} audio, "
          f"{len(tags['images'])} images, {len(tags['histograms'])} histograms, "
          f"{len(tags['tensors'])} texts and hparams")


def wandb_records(file):
    store = DataStore()
    store.open_for_scan(str(file))
    records = []
    while (data := store.scan_data()) is not None:
        record = wandb_internal_pb2.Record()
        record.ParseFromString(data)
        records.append(record)
    return records


def check_wandb(folder, expected):
    files = list(folder.glob("wandb/offline-run-*/run-*.wandb"))
    assert len(files) == 1, files
    records = wandb_records(files[0])
    kinds = [record.WhichOneof("record_type") for record in records]
    assert kinds[:2] == ["header", "run"] and kinds[-2:] == ["summary", "exit"], kinds
    assert kinds.count("run") == kinds.count("exit") == 1
    run = records[1].run
    assert files[0].parent.name.endswith("-" + run.run_id)
    assert files[0].name == f"run-{run.run_id}.wandb"
    assert (run.project, run.display_name, list(run.tags)) == ("loggers", "tiny run", ["a"])
    config = dict_from_proto_list(run.config.update)
    assert config["model"]["optimizer"]["lr"] == 1e-3 and config["trainer"]["max_steps"] == STEPS
    rows, found, media = [], {}, []
    for record in records:
        if record.WhichOneof("record_type") != "history":
            continue
        row = dict_from_proto_list(record.history.item)
        step = row.pop("_step")
        assert step == record.history.step.num == row.pop("trainer/global_step")
        assert row.pop("_timestamp") > 0 and row.pop("_runtime") >= 0
        rows.append(step)
        for name, value in row.items():
            if isinstance(value, dict):
                media.append((step, name, value))
            elif not isinstance(value, str):
                found.setdefault(name, {})[step] = value
            else:
                assert name.endswith("/text") and "reference: " in value
    assert rows == list(range(1, STEPS + 1)), rows
    compare("wandb", found, expected)
    defined = {record.metric.name for record in records if record.HasField("metric")}
    assert defined >= {"trainer/global_step", *found}, found.keys() - defined
    uploads = {file.path for record in records for file in record.files.files}
    for step, name, value in media:
        assert step in (5, 10)
        if value["_type"] == "histogram":
            assert name.startswith("parameters/")
            assert len(value["bins"]) == len(value["values"]) + 1 <= 513
            continue
        assert value["path"] in uploads
        data = (files[0].parent / "files" / value["path"]).read_bytes()
        assert hashlib.sha256(data).hexdigest() == value["sha256"] and len(data) == value["size"]
        if value["_type"] == "audio-file":
            check_wav(data)
        else:
            assert Image.open(io.BytesIO(data)).size == (value["width"], value["height"])
    assert {kind["_type"] for _, _, kind in media} == {"audio-file", "image-file", "histogram"}
    summary = {}
    for record in records:
        summary.update(dict_from_proto_list(record.summary.update))
    assert summary["train_loss"] == expected["train_loss"][STEPS], summary["train_loss"]
    print(f"wandb: {len(records)} records, {len(rows)} rows, {len(found)} values, "
          f"{len(media)} media and histograms")


def check_wandb_sync(folder, expected):
    """`wandb sync` sends every row and every file of the run."""
    (offline,) = folder.glob("wandb/offline-run-*")
    with WandbServer() as server:
        server.sync(offline)
    assert [row["_step"] for row in server.rows] == list(range(1, STEPS + 1)), server.rows
    found = {}
    for row in server.rows:
        for name in expected:
            if name in row:
                found.setdefault(name, {})[row["_step"]] = row[name]
    compare("wandb sync", found, expected)
    media = {str(path.relative_to(offline / "files")): path.read_bytes()
             for path in (offline / "files/media").rglob("*.*")}
    assert media and media.items() <= server.files.items(), set(media) - set(server.files)
    print(f"wandb sync: sent {len(server.rows)} rows and {len(server.files)} files")


def check_mlflow(folder, expected):
    client = mlflow.MlflowClient(tracking_uri=(folder.parent / "mlruns").as_uri())
    experiments = [e for e in client.search_experiments() if e.name == "s2s"]
    assert len(experiments) == 1, experiments
    runs = client.search_runs([experiments[0].experiment_id])
    assert len(runs) == 1, runs
    run = runs[0]
    assert (run.info.status, run.info.run_name) == ("FINISHED", "run"), run.info
    assert run.data.params["model.optimizer.lr"] == "1e-3"
    found = {name: once("mlflow", name, [
        (m.step, m.value) for m in client.get_metric_history(run.info.run_id, name)])
        for name in run.data.metrics}
    compare("mlflow", found, expected)
    artifacts = []
    folders = [""]
    while folders:
        for item in client.list_artifacts(run.info.run_id, folders.pop() or None):
            (folders if item.is_dir else artifacts).append(item.path)
    for name in [f"val_dev/0/{clip}/step=0000010.wav" for clip in CLIPS]:
        check_wav(Path(client.download_artifacts(run.info.run_id, name)).read_bytes())
    wanted = {"config.yaml", "val_dev/1/text/step=0000005.md",
              "val_dev/1/answer_spectrogram/step=0000010.png"}
    assert wanted <= set(artifacts), artifacts
    print(f"mlflow: {len(found)} metrics, {len(run.data.params)} parameters, "
          f"{len(artifacts)} artifacts")


def check_csv(folder, expected):
    with open(folder / "metrics.csv", newline="") as file:
        rows = list(csv.DictReader(file, strict=True))
    found = {}
    for row in rows:
        assert None not in row and None not in row.values(), row  # every row has every column
        step = int(row.pop("step"))
        for name, value in row.items():
            if value:
                assert step not in found.setdefault(name, {}), f"csv: {name}, step {step} twice"
                found[name][step] = float(value)
    compare("csv", found, expected)
    print(f"csv: {len(rows)} rows, {len(found)} columns")


def check_ranks(folder):
    """Of two ranks that share each parameter, one writes, and its histograms count all elements."""
    found = []
    for name in ("run", "ranks"):
        events = events_of(folder / name)
        found.append({tag: events.Histograms(tag)[-1].histogram_value.num
                      for tag in events.Tags()["histograms"]})
    assert found[0] == found[1], found
    for pattern in ("events.out.tfevents.*", "wandb/*/*.wandb"):
        assert len(list((folder / "ranks").glob(pattern))) == 1, pattern
    with open(folder / "ranks/metrics.csv", newline="") as file:
        assert [row["step"] for row in csv.DictReader(file)] == ["1", "2", "2"]
    print(f"two ranks: {len(found[0])} histograms")


def check(folder):
    expected = expected_values(folder)
    check_tensorboard(folder, expected)
    check_wandb(folder, expected)
    check_mlflow(folder, expected)
    check_csv(folder, expected)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("run", type=Path)
    parser.add_argument("--keep", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        train(arguments.run, folder)
        check(folder / "run")
        # What kill -9 at step 10 leaves of a run that saves every five steps.
        shutil.rmtree(folder / "run/checkpoints/step=10")
        (folder / "run/checkpoints/last").unlink()
        (folder / "run/checkpoints/last").symlink_to("step=5")
        train(arguments.run, folder)
        check(folder / "run")
        check_wandb_sync(folder / "run", expected_values(folder / "run"))
        train(arguments.run, folder, "ranks", ("launch", "local", "-n", "2", "--"),
              ("trainer.strategy={name: fsdp}", "trainer.max_steps=2",
               "trainer.val_check_interval=2", "model.lr_scheduler.warmup_steps=1"))
        check_ranks(folder)
    print("ok: every value once, also after a resume")


if __name__ == "__main__":
    main()
