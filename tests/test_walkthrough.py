"""Adding one of each kind of thing, in at most four places; CONTRIBUTING.md says which."""

from importlib import util
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.slow
def test_every_kind_of_thing_is_added_in_four_places_at_most():
    spec = util.spec_from_file_location("walkthrough", ROOT / "tools" / "walkthrough.py")
    tool = util.module_from_spec(spec)
    import sys

    sys.modules["walkthrough"] = tool
    spec.loader.exec_module(tool)
    found, contributing = tool.walk(), (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for name, places in found.items():
        assert len(places) <= 4, name
        assert f"| {name} | {len(places)} |" in contributing, name
