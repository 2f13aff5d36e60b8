"""The blocks of a job in, their parts out, made by the workers of a Ray cluster.

Ray Data only schedules: numbers of blocks go out, small records come back, and workers read and
write the files themselves. One model is loaded for each worker, and a worker has one CPU. One CPU
of the cluster stays free: Ray Data hangs if its workers take all. A worker that dies is replaced by
Ray; our parts are the checkpoint, since Ray's own loses or repeats rows of such small inputs.
"""

import logging
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from elmore.corpus.parts import PartRecord
from elmore.embed.block_job import BlockJob
from elmore.errors import ConfigError, DataError, ElmoreError, MissingExtraError

_log = logging.getLogger(__name__)


def run_on_ray(
    job: BlockJob, numbers: Sequence[int], address: str
) -> Iterator[tuple[int, PartRecord]]:
    """Yield the number and the record of each part as it is finished.

    `address` is "local" (Ray is started on this machine), "auto" (the cluster that this machine is
    in) or "ray://HOST:PORT". A program that is connected to a cluster already stays so.
    """
    ray = _import_ray()
    is_ours = not ray.is_initialized()
    if is_ours:
        _connect(ray, address)
    try:
        for row in _rows(ray, job, numbers):
            if row["error"]:
                raise DataError(str(row["error"]))
            yield int(row["block"]), msgspec.json.decode(row["record"], type=PartRecord)
    except ray.exceptions.RayError as error:
        reason = " ".join(str(error).split())[-300:]  # a traceback ends with it
        raise DataError(
            f"the Ray cluster gave up ({reason}); finished parts are kept, and the same command "
            "resumes"
        ) from error
    finally:
        if is_ours:
            ray.shutdown()


class BlockWorker:
    """What a worker of Ray holds: the job, with its model."""

    def __init__(self, job: BlockJob) -> None:
        self._job = job

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[Any]]:
        """Make the part of one block; foreseen errors come back as their sentences."""
        (number,) = batch["block"].tolist()
        record, error = b"", ""
        try:
            record = msgspec.json.encode(self._job.run(number))
        except ElmoreError as found:
            error = str(found)
        except OSError as found:
            error = f"{found.filename or 'block'}: {found.strerror or found}"
        return {"block": [number], "record": [record], "error": [error]}


class Scheduler:
    """Runs Ray Data: in the driver, or for a client of Ray in the cluster, where alone it works."""

    def __init__(self, job: BlockJob, numbers: Sequence[int], n_workers: int) -> None:
        import ray.data  # noqa: PLC0415  an extra

        ray.data.DataContext.get_current().enable_progress_bars = False
        items = [{"block": number} for number in numbers]
        blocks = ray.data.from_items(items, override_num_blocks=len(items))
        records = blocks.map_batches(
            BlockWorker,
            fn_constructor_args=(job,),
            batch_size=1,
            num_cpus=1,
            compute=ray.data.ActorPoolStrategy(size=n_workers),
        )
        self._rows = iter(records.iter_rows())

    def next_row(self) -> dict[str, Any] | None:
        """Return what the next block to be finished became; None after the last."""
        return next(self._rows, None)


def _rows(ray: Any, job: BlockJob, numbers: Sequence[int]) -> Iterator[dict[str, Any]]:
    n_cpus = int(ray.cluster_resources().get("CPU", 0))
    if n_cpus < 2:
        raise ConfigError(
            f"the Ray cluster has {n_cpus} CPU, and needs one besides those of its workers; start "
            "it with at least 2"
        )
    n_workers = min(n_cpus - 1, len(numbers))
    _log.info(
        "Ray has %d CPUs: %d workers of one each, and one CPU stays free for Ray Data",
        n_cpus, n_workers,
    )  # fmt: skip
    if ray.util.client.ray.is_connected():
        remote = ray.remote(num_cpus=0)(Scheduler).remote(job, list(numbers), n_workers)
        return iter(lambda: ray.get(remote.next_row.remote()), None)
    return iter(Scheduler(job, numbers, n_workers).next_row, None)


def _connect(ray: Any, address: str) -> None:
    if address not in ("local", "auto") and not address.startswith("ray://"):
        raise ConfigError(f"--ray is {address!r}; expected local, auto or ray://HOST:PORT")
    try:
        ray.init(address, log_to_driver=False, logging_level=logging.ERROR, include_dashboard=None)
    except Exception as error:  # Ray raises many kinds, also plain ones
        reason = " ".join(str(error).split())[:300]
        if address == "local":
            raise ConfigError(
                f"Ray did not start on this machine ({reason}); try again, or use --processes"
            ) from None
        raise ConfigError(
            f"there is no Ray cluster at {address} ({reason}); start one (ray start --head), or "
            "use --ray local"
        ) from None


def _import_ray() -> Any:
    try:
        import ray.data  # noqa: PLC0415  an extra
        import ray.exceptions  # noqa: PLC0415
        import ray.util.client  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError("--ray", "ray") from None
    return ray
