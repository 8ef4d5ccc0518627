"""What to keep of a view."""

from __future__ import annotations

import msgspec


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """What to keep of a view: values of a column are alternatives, an empty tuple keeps all."""

    suite: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    backend: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    accelerator: tuple[str, ...] = ()
    dtype: tuple[str, ...] = ()
    run: tuple[str, ...] = ()

    def parameters(self) -> dict[str, list[str]]:
        """Return the values as query parameters."""
        return {name: list(getattr(self, name)) for name in self.__struct_fields__}


ALL = Filters()
