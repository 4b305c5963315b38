"""From registry.yaml to a checked `Manifest`."""
