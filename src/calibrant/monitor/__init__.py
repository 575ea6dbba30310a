"""Watching predictions as they come: evidence against calibration that may be looked at after every row."""

from calibrant.monitor.monitor import Monitor
from calibrant.monitor.state import Change, MonitorState

__all__ = ["Change", "Monitor", "MonitorState"]
