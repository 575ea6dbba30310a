"""Objects for tests, made when a test first asks for them: collecting tests needs their names only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any


class MadeOnce(Mapping[str, Any]):
    """Objects by name; each is made the first time it is asked for."""

    def __init__(self, makers: Mapping[str, Callable[[], Any]]) -> None:
        self.makers = dict(makers)
        self.made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self.made:
            self.made[name] = self.makers[name]()
        return self.made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.makers)

    def __len__(self) -> int:
        return len(self.makers)
