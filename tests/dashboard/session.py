"""A session of a page as a browser has one, over a real websocket, for clicks that no browser would make."""

import contextlib
import socket
from collections.abc import Iterator, Mapping

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.util import calc_hash
from websockets.sync.client import ClientConnection, connect

PATIENCE_S = 60.0


class Session:
    """What it shows and clicks is that of one page."""

    def __init__(self, opened: ClientConnection, page: str, query: str) -> None:
        self.opened, self.page, self.query = opened, page, query

    def run(self, clicked: str = "", values: Mapping[str, str] | None = None) -> dict[str, str]:
        """Have the page drawn, with a button clicked; return its widgets by label, as ids of Streamlit."""
        asked = BackMsg()
        asked.rerun_script.query_string = self.query
        asked.rerun_script.page_script_hash = calc_hash(self.page)
        for name, value in (values or {}).items():
            state = asked.rerun_script.widget_states.widgets.add()
            state.id, state.string_value = name, value
        if clicked:
            state = asked.rerun_script.widget_states.widgets.add()
            state.id, state.trigger_value = clicked, True
        self.opened.send(asked.SerializeToString())
        return self._until_drawn()

    def _until_drawn(self) -> dict[str, str]:
        found: dict[str, str] = {}
        while True:
            told = ForwardMsg()
            told.ParseFromString(self.opened.recv(timeout=PATIENCE_S))
            kind = told.WhichOneof("type")
            if kind == "script_finished":
                return found
            if kind == "delta" and told.delta.WhichOneof("type") == "new_element":
                element = told.delta.new_element
                shape = element.WhichOneof("type")
                if shape in ("button", "text_input"):
                    drawn = getattr(element, shape)
                    found[drawn.label] = drawn.id


@contextlib.contextmanager
def session(
    port: int,
    page: str,
    query: str = "",
    host: str = "",
    through: socket.socket | None = None,
    base: str = "",
    **headers: str,
) -> Iterator[Session]:
    """Open a page as somebody whose browser, or whose proxy, sends these headers, and calls the server by that name.

    `through` leads to it in place of the port, `base` is the path of its pages.
    """
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    with (
        through or socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as plain,
        connect(
            f"ws://{host or '127.0.0.1'}:{port}{base}/_stcore/stream",
            sock=plain,
            origin=named.pop("Origin", f"http://127.0.0.1:{port}"),  # type: ignore[arg-type]
            subprotocols=["streamlit"],  # type: ignore[list-item]
            additional_headers=named,
            max_size=None,
            proxy=None,
        ) as opened,
    ):
        yield Session(opened, page, query)
