"""Sequential monitoring: evidence against calibration that is valid after every row."""

from calibrant.monitor.monitor import Monitor
from calibrant.monitor.state import Change, MonitorState

__all__ = ["Change", "Monitor", "MonitorState"]
