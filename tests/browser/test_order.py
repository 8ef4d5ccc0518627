"""The rows of charts stand in the chosen order, also where a change gave a chart other data and nothing else."""

import re
from urllib.parse import quote

import pytest
from harness import settled

from dashboard.view.choosing import EVERY

CHARTS = "[...document.querySelectorAll('.stVegaLiteChart svg')]"
LABELS = f"""() => {CHARTS}.map(chart => [...chart.querySelectorAll('.role-axis-label text')]
    .map(text => [text.getBoundingClientRect().y, text.textContent]).sort((a, b) => a[0] - b[0])
    .map(each => each[1]).filter(name => !/^[0-9.]+\\W$/.test(name)))"""
RUN = "run=2af2f9b8-ad8b-4935-a560-fac9eedfb34c"


@pytest.mark.thorough
def test_models_stand_in_the_chosen_order_before_and_after_a_change(page, review_url):
    page.goto(f"{review_url}/speedup?{RUN}&test=eval&order=Model+name&section={quote(EVERY)}")
    settled(page, "Speedup")
    page.wait_for_function(f"() => ({LABELS})().length > 1 && ({LABELS})().every(names => names.length > 1)")
    before = page.evaluate(LABELS)
    assert max(map(len, before)) > 3
    for geomean, *names in before:
        assert geomean == "geomean"
        assert names == sorted(names, key=str.lower)
    page.evaluate(f"() => {{ window.charts = {CHARTS}; }}")
    page.get_by_text("Longest latency first", exact=True).click()
    page.wait_for_url(re.compile("order=Longest"))
    page.wait_for_function(f"before => JSON.stringify(({LABELS})()) !== JSON.stringify(before)", arg=before)
    other = page.evaluate(LABELS)
    assert [sorted(names) for names in other] == [sorted(names) for names in before]
    page.get_by_text("Model name", exact=True).click()
    page.wait_for_function(f"before => JSON.stringify(({LABELS})()) === JSON.stringify(before)", arg=before)
    assert page.evaluate(f"() => {CHARTS}.every((chart, place) => chart === window.charts[place])"), "drawn anew"
