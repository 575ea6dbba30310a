"""What each method says about itself: read by the command line, the report, the docs and the shared tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

Needs = Literal["sums", "sorted rows", "all rows"]


@dataclass(frozen=True, slots=True)
class About:
    """The facts of one method, stated once, beside the method."""

    name: str
    """the name on the command line"""
    title: str
    """the name people print beside the number"""
    function: Callable[..., Any]
    quantity: str
    """what it estimates, in words"""
    views: tuple[str, ...]
    needs: Needs
    """`sums`: a small state that can be merged; otherwise what it must see at once"""
    bias: str
    """direction of the bias at small n"""
    cost: str
    source: str
    also_called: tuple[str, ...] = ()
    """acronyms users search for"""
    soft_labels: bool = True
    weights: bool = True
    of_the_error: bool = True
    """does it estimate the true calibration error of its norm, rather than a quantity of its own?"""

    @property
    def mergeable(self) -> bool:
        """Can states collected on parts of the data be added up?"""
        return self.needs == "sums"


def find(table: Any, name: str) -> Any:
    """The entry of a table under its name or one of its acronyms, whatever the case."""
    wanted = _plain(name)
    for about in table.values():
        if wanted in map(_plain, (about.name, *about.also_called)):
            return about
    return None


def _plain(name: str) -> str:
    return name.lower().replace("-", "_").replace(" ", "_")
