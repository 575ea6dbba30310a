"""What a notebook shows."""

from __future__ import annotations


class Shown:
    """What a notebook shows as HTML: words, the picture where there is one, and tables."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        from calibrant.plot.notebook import html  # drawing lies above: this is the way up

        return html(self)
