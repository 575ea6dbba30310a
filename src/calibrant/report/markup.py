"""Elements of HTML and SVG as text."""

from __future__ import annotations

from html import escape


def tag(name: str, content: str = "", /, **attributes: str | float) -> str:
    """An element.

    Parameters
    ----------
    name
        The element's name.
    content
        Finished markup.
    **attributes
        Values are escaped; `class_` is class, `_` elsewhere is `-`.
    """
    written = "".join(f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"' for key, value in attributes.items())
    return f"<{name}{written}>{content}</{name}>"


def words(name: str, text: str, /, **attributes: str | float) -> str:
    """An element that holds plain text, escaped.

    Parameters
    ----------
    name
        The element's name.
    text
        Plain text.
    **attributes
        As in `tag`.
    """
    return tag(name, escape(text).replace(" %", "\u00a0%"), **attributes)  # a line never starts with a sign


def _value(value: str | float) -> str:
    if isinstance(value, str):
        return escape(value)
    return f"{value:.2f}".rstrip("0").rstrip(".")  # hundredths of a pixel: small files, no visible loss
