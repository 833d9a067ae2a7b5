"""From nothing to the first answer: import, first call, memory; each in a fresh process."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping
from typing import Any

from benchmarks.adapters import Adapter
from benchmarks.measure import duration, in_fresh_process, memory
from benchmarks.report import Report

_LATENCY_PROGRAM = """
begin = time.perf_counter()
import {module}
imported = time.perf_counter()
import numpy
scores = numpy.random.default_rng(0).normal(size=(11, 11))
numpy.linalg.slogdet(scores)
ready = time.perf_counter()
{first_call}
end = time.perf_counter()
print(json.dumps({{"import": imported - begin, "call": end - ready, "peak": MOST()}}))
"""

_MEMORY_PROGRAM = """
import numpy as np
from benchmarks import adapters, graphs
adapter = adapters.find(sys.argv[1])
def job(n):
    lengths = np.full(4, n, dtype=np.int32)
    return (
        adapter.arc_marginals(graphs.random(n, count=4), lengths, single_root=True)
        or adapter.uniform_spanning_tree(n)
    )
job(5).run()
large = job(int(sys.argv[2]))
PEAK()
answer = large.run()
print(json.dumps({"peak": PEAK()}))
"""


def add_latency(report: Report, here: Mapping[str, Adapter]) -> None:
    """Add a table of what each library that is here takes to get going."""
    quick = report.settings.quick
    table = report.table(
        "From nothing to the first answer, and memory",
        ("who", "version", "import", "first call", "memory with all that", "memory for the work"),
        "In a fresh process, by the clock, 10 words; the fastest of three, but for those that take "
        "seconds.  The "
        "work: marginals of 4 graphs of 200 words where a library has them, else a spanning tree "
        "of 200 words; memory beyond what was there before.",
    )
    for name, adapter in here.items():
        if adapter.first_call is None or (quick and adapter.is_heavy):
            continue
        program = _LATENCY_PROGRAM.format(module=adapter.module, first_call=adapter.first_call)
        runs = [in_fresh_process(program) for _ in range(1 if quick or adapter.is_heavy else 3)]
        runs = [one for one in runs if "error" not in one]
        if not runs:
            continue
        weight: dict[str, Any] = {"error": "not asked: too slow"}
        if name != "networkx":  # one tree of 200 words would take it an hour
            words = "50" if quick else "200"
            weight = in_fresh_process(_MEMORY_PROGRAM, arguments=[name, words])
        table.rows.append(
            [
                adapter.name,
                _version(adapter),
                duration(min(one["import"] for one in runs)),
                duration(min(one["call"] for one in runs)),
                memory(min((one["peak"] for one in runs if one["peak"]), default=None)),
                memory(weight.get("peak")),
            ]
        )


def _version(adapter: Adapter) -> str:
    package = adapter.module.split(".")[0]
    known = {"pyro": "pyro-ppl", "torch_struct": "torch-struct"}
    try:
        return importlib.metadata.version(known.get(package, package))
    except importlib.metadata.PackageNotFoundError:
        return ""
