"""Streams and samplers of generated cuts, described by JSON and built of lhotse's own classes.

tests/core/streams/stream_of_spec.h and tests/core/samplers/sampler_of_spec.h build the same of
ours.
"""

import random
from functools import partial

from lhotse import CutSet, MonoCut, SupervisionSegment
from lhotse.lazy import (LazyFilter, LazyFlattener, LazyInfiniteApproximateMultiplexer,
                         LazyIteratorChain, LazyIteratorMultiplexer, LazyMapper, LazyRepeater)
from lhotse.dataset.sampling import (DynamicBucketingSampler, DynamicCutSampler, RoundRobinSampler,
                                     ZipSampler)
from lhotse.dataset.sampling.dynamic_bucketing import FixedBucketBatchSizeConstraint
from lhotse.utils import fastcopy, streaming_shuffle


def duration(shape, rng):
    drawn = rng.randint(1, 1000)
    if shape == "equal":
        return 5.0
    if shape == "short":
        return 0.25 + drawn / 500
    if shape == "skewed":
        return 0.5 + drawn * drawn / 40000
    if shape == "tail":
        return 1 + drawn / 200 if drawn <= 960 else 40 + drawn / 10
    return 0.5 + drawn / 50


class Generated:
    """Restartable, like a manifest."""

    def __init__(self, spec):
        rng = random.Random(spec["seed"])
        self.cuts = []
        for i in range(spec["count"]):
            length = duration(spec.get("shape", "uniform"), rng)
            tokens = list(range(rng.randint(0, 60)))
            cut_id = f"{spec['name']}{i}"
            turn = SupervisionSegment(cut_id, cut_id, 0, length, custom={"tokens": tokens})
            self.cuts.append(MonoCut(cut_id, 0, length, 0, supervisions=[turn]))

    def __iter__(self):
        return iter([fastcopy(cut) for cut in self.cuts])

    def __len__(self):
        return len(self.cuts)


class Shuffled:
    """lhotse's shuffle, seeded by the pass as DynamicCutSampler seeds it."""

    def __init__(self, source, spec):
        self.source, self.spec, self.epoch = source, spec, 0

    def __iter__(self):
        rng = random.Random(self.spec.get("seed", 0) + self.epoch)
        yield from streaming_shuffle(iter(self.source), bufsize=self.spec["buffer"], rng=rng)
        self.epoch += 1


class First:
    def __init__(self, source, count):
        self.source, self.count = source, count

    def __iter__(self):
        for i, cut in enumerate(self.source):
            if i >= self.count:
                return
            yield cut
            if i + 1 == self.count:
                return


def renamed(cut, suffix):
    return fastcopy(cut, id=cut.id + suffix)


def target(cut):
    """The cut of the same id in a set of targets."""
    return fastcopy(cut, duration=0.5 + sum(cut.id.encode()) % 97 / 8)


def parts(cut):
    return [renamed(cut, f"-{i}") for i in range(int(cut.duration) % 3)]


def numbered(cut, rng):
    suffix = f"#{rng.randint(0, 99)}"
    if cut.duration > 5 and rng.uniform(0, 1) > 0.5:
        suffix += "+"
    return renamed(cut, suffix)


def changed(spec):
    source, kind = stream(spec["of"]), spec["op"]
    if kind == "repeat":
        return LazyRepeater(source, preserve_id=spec.get("preserve_id", False))
    if kind == "shuffle":
        return Shuffled(source, spec)
    if kind == "filter":
        return LazyFilter(source, lambda cut: cut.duration >= spec["min"])
    if kind == "map":
        return LazyMapper(source, partial(renamed, suffix=spec["suffix"]))
    if kind == "flat_map":
        return LazyFlattener(LazyMapper(source, parts))
    if kind == "draw":
        return LazyMapper(source, partial(numbered, rng=random.Random(spec.get("seed", 0))))
    assert kind == "first", kind
    return First(source, spec["count"])


def stream(spec):
    kind = spec["op"]
    if kind == "cuts":
        made = Generated(spec)
    elif kind == "chain":
        made = LazyIteratorChain(*[stream(s) for s in spec["of"]])
    elif kind == "mux":
        made = LazyIteratorMultiplexer(*[stream(s) for s in spec["of"]], seed=spec.get("seed", 0),
                                       weights=spec.get("weights"))
    elif kind == "infinite_mux":
        made = LazyInfiniteApproximateMultiplexer(*[stream(s) for s in spec["of"]],
                                                  seed=spec.get("seed", 0),
                                                  weights=spec.get("weights"),
                                                  max_open_streams=spec.get("open"))
    else:
        made = changed(spec)
    return CutSet(made)


def ids_of_stream(spec, passes, limit):
    """Ids of each pass, of at most `limit` cuts."""
    cuts, ids = stream(spec), []
    for _ in range(passes):
        ids.append([])
        for cut in cuts:
            ids[-1].append(cut.id)
            if len(ids[-1]) == limit:
                break
    return ids


def fixed_constraint(spec):
    if "tokens" not in spec:
        return FixedBucketBatchSizeConstraint(spec["bins"], spec["batch_sizes"])
    from nemo.collections.common.data.lhotse.sampling import FixedBucketBatchSizeConstraint2D
    return FixedBucketBatchSizeConstraint2D(
        [list(pair) for pair in zip(spec["bins"], spec["tokens"])], spec["batch_sizes"],
        strict_2d=spec.get("strict", True), max_ratio=spec.get("max_ratio"))


def bins_of(spec):
    if "tokens" not in spec:
        return spec.get("bins")
    return [list(pair) for pair in zip(spec["bins"], spec["tokens"])]


def limits(spec):
    return {name: spec[name] for name in ("max_duration", "max_cuts") if name in spec}


def common(spec, world_size, rank):
    return dict(shuffle=spec.get("shuffle", False), drop_last=spec.get("drop_last", False),
                world_size=world_size, rank=rank, seed=spec.get("seed", 0))


def sources(spec):
    """One set of cuts, or a pair."""
    if not spec.get("pairs"):
        return [stream(spec["of"])]
    return [stream(spec["of"]), CutSet(LazyMapper(stream(spec["of"]), target))]


def dynamic_bucketing(spec, cuts, world_size, rank):
    kwargs = common(spec, world_size, rank)
    if "batch_sizes" in spec:
        constraint = fixed_constraint(spec)
        if "tokens" in spec:
            from nemo.collections.common.data.lhotse.sampling import BucketingFilter
            cuts = [cuts[0].filter(BucketingFilter(constraint))]
        kwargs["constraint"] = constraint
    else:
        kwargs.update(limits(spec), quadratic_duration=spec.get("quadratic"))
    return DynamicBucketingSampler(
        *cuts, duration_bins=bins_of(spec), num_buckets=spec.get("num_buckets", 10),
        num_cuts_for_bins_estimate=spec.get("estimate", 10000), buffer_size=spec["buffer"],
        **kwargs)


def sampler(spec, world_size, rank):
    kind = spec["sampler"]
    if kind in ("zip", "round_robin"):
        of = [sampler(s, world_size, rank) for s in spec["of"]]
        if kind == "zip":
            return ZipSampler(*of)
        return RoundRobinSampler(*of, randomize=spec.get("randomize", False),
                                 seed=spec.get("seed", 0))
    if kind == "dynamic_bucketing":
        return dynamic_bucketing(spec, sources(spec), world_size, rank)
    assert kind == "dynamic_cut", kind
    return DynamicCutSampler(*sources(spec), shuffle_buffer_size=spec.get("buffer", 20000),
                             quadratic_duration=spec.get("quadratic"), **limits(spec),
                             **common(spec, world_size, rank))


def ids_of_sampler(case):
    """Ids of each batch of each rank of each epoch; at most `limit` batches of an epoch."""
    epochs = [[] for _ in range(case["epochs"])]
    for rank in range(case["world_size"]):
        made = sampler(case["sampler"], case["world_size"], rank)
        for epoch in range(case["epochs"]):
            made.set_epoch(epoch)
            batches = []
            for batch in made:
                sources_of_batch = batch[0] if isinstance(batch, tuple) else batch
                batches.append([cut.id for cut in sources_of_batch])
                if len(batches) == case.get("limit"):
                    break
            epochs[epoch].append(batches)
    return epochs
