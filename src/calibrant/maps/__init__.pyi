"""What the package gives, for type checkers."""

from typing import Any

from calibrant.maps.every import *  # noqa: F403

def recipe_of(method: Any) -> Any: ...
