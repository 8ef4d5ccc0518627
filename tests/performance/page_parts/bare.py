"""A page of Streamlit's alone, with the filters and about as many elements as Overview: it reads and computes nothing.

What a change of a filter takes here is Streamlit's and the browser's, so it is what the pages are compared with.
`python -m streamlit run tests/performance/page_parts/bare.py`
"""

import pandas as pd
import streamlit as st

SECTIONS, TABLES, ROWS, COLUMNS = 2, 3, 12, 8
"""As Overview has them over a run of three suites, two tests and four backends."""
CHOICES = {
    "Suite": ["huggingface", "timm_models", "torchbench"],
    "Model": [f"model_{number:04}" for number in range(100)],
    "Backend": ["eager", "inductor", "openxla+dynamo", "openxla+lazytensor"],
    "Test": ["eval", "train"],
    "Accelerator": ["cpu"],
    "Dtype": ["float32"],
}
CHART = {
    "height": 200,
    "mark": {"type": "point", "filled": True},
    "encoding": {
        "x": {"field": "value", "type": "quantitative"},
        "y": {"field": "row", "type": "nominal"},
        "color": {"field": "group", "type": "nominal"},
    },
}


def _clear() -> None:
    for name in CHOICES:
        st.session_state[name] = []


def _sidebar() -> str:
    """Draw the filters; return what is chosen as one text."""
    with st.sidebar:
        for name in ("Run", "Baseline", "Baseline measured in"):
            st.selectbox(name, ["one", "two"], key=f"pick-{name}")
        chosen = [f"{name} {value}" for name, of in CHOICES.items() for value in st.multiselect(name, of, key=name)]
        st.pills("Only models with", ["no fallback ops", "no graph breaks"], selection_mode="multi")
        st.button("Clear filters", on_click=_clear)
        st.caption("Last ingest")
    return ", ".join(chosen)


def _table(shown: str, name: str) -> None:
    """Draw a caption, a table whose numbers change with every choice, and a button below it."""
    st.caption(f"{name} of {shown or 'all'}")
    frame = pd.DataFrame({f"column {place}": range(ROWS) for place in range(COLUMNS)}) + len(shown)
    st.dataframe(frame, hide_index=True, height="content", key=name)
    st.popover(f"{ROWS} rows", key=f"{name}-files", on_change="rerun")


def main() -> None:
    """Draw the page."""
    st.set_page_config(layout="wide")
    shown = _sidebar()
    st.title("Bare")
    for words in ("#### What is shown", f"- {shown or 'all'}"):
        st.markdown(words)
    for place in range(4):
        st.button(f"button {place}", type="tertiary")
    st.segmented_control("Rule", ["one", "two"], label_visibility="collapsed")
    points = pd.DataFrame({"value": range(ROWS), "row": range(ROWS), "group": [place % 3 for place in range(ROWS)]})
    st.vega_lite_chart(points + len(shown), CHART, key="chart")
    for section in range(SECTIONS):
        st.subheader(f"Section {section}")
        for table in range(TABLES):
            _table(shown, f"table {section} {table}")
    st.expander("More", key="more", on_change="rerun")


if __name__ == "__main__":
    main()
