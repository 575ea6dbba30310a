"""The embedded example."""
