"""Each page goes by the filters that the kept runs have one value of only: accelerator and dtype.

Those with several values are chosen in a browser, page by page, by `tests/browser/test_chain.py`, which is thorough.
"""

import re

import pytest

from dashboard.screens import PAGES
from store.ingest import ingest
from store.record import FallbackOp
from tests.dashboard.opened import open_page, seen, tables, text
from tests.tiers import first_of

FASTER = {"cpu": 1.0, "cuda": 0.3, "float32": 1.0, "bfloat16": 0.6}
NAMES = {spec.url_path or "overview": spec.title for spec in PAGES}


@pytest.fixture(scope="module")
def mixed(factory, tmp_path_factory):
    """A store of two days with models and an operator, each on two accelerators in two dtypes under two backends."""
    home = tmp_path_factory.mktemp("mixed")
    op = FallbackOp(op="nonzero", klass="opt_in_lowering", calls_per_iteration=2.0, calls_compile=4)
    for day in range(2):
        records = [
            factory.make_record(
                suite=suite,
                model=model,
                backend=backend,
                accelerator=accelerator,
                dtype=dtype,
                per_iter=[0.01 * (1 + day) * FASTER[accelerator] * FASTER[dtype] * (1 + 0.01 * n) for n in range(8)],
                run_id=f"day-{day}",
                timestamp=factory.RUN_START + day * factory.DAY,
                fallback_ops=[op] if backend == "openxla+dynamo" else (),
            )
            for suite, model in (("torchbench", "alexnet"), ("operators", "torch.mm(float[64,64], float[64,64])"))
            for backend in ("inductor", "openxla+dynamo")
            for accelerator in ("cpu", "cuda")
            for dtype in ("float32", "bfloat16")
        ]
        factory.write_run(home / "runs" / f"day-{day}", records)
    ingest([home], home / "store")
    return home / "store"


def shown_content(at):
    """Return what a page shows, without how long ago something was."""
    frames = [table.drop(columns=["ingested_at"], errors="ignore").to_csv() for table in tables(at)]
    return [re.sub(r"\d+ (d|h|min) ago|just now", "", text(at)), *frames]


ASKED = [("accelerator", "cuda"), ("dtype", "bfloat16")]
CASES = [(page, *ASKED[(place + turn) % 2]) for turn in range(2) for place, page in enumerate(NAMES)]
"""Each page with one of both, in turns; with the other one, and on further pages, it is thorough.

That rows are those of a filter's statement is shown of every query by test_run_subsets.py.
"""


@pytest.mark.parametrize(("page", "name", "value"), first_of(CASES, 2))
def test_the_filters_of_accelerator_and_dtype_change_the_view_and_a_link_holds_them(
    monkeypatch, mixed, page, name, value
):
    whole = seen(mixed, page)
    assert not whole.exception
    at = open_page(monkeypatch, mixed, page, **{name: [value]})
    assert not at.exception
    assert not at.warning
    assert at.session_state[name] == [value]
    assert at.query_params[name] in (value, [value])
    assert shown_content(at) != shown_content(whole)
    for table in tables(at):
        assert name not in table or set(table[name].dropna()) <= {value}
