"""Where public names and records are defined, read from `names.txt`, which tools/make_names.py writes."""

from os.path import dirname, join


def _homes(mark: str) -> dict[str, str]:
    """The module of each name with this mark."""
    with open(join(dirname(__file__), "names.txt"), encoding="utf-8") as file:  # pathlib takes longer to import
        rows = [line.split() for line in file][1:]
    return {name: home for home, found, *names in rows if found == mark for name in names}


HOMES, RECORDS = _homes(":"), _homes("=")
