"""Where public names and records are defined, read from `names.txt`, which tools/make_names.py writes."""

from pathlib import Path


def _homes(mark: str) -> dict[str, str]:
    """The module of each name with this mark."""
    lines = Path(__file__).with_name("names.txt").read_text(encoding="utf-8").splitlines()[1:]
    rows = (line.split() for line in lines)
    return {name: home for home, found, *names in rows if found == mark for name in names}


HOMES, RECORDS = _homes(":"), _homes("=")
