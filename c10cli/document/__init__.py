"""YAML text as nodes with places, without knowledge of registries."""
