"""What changed between two sides: schemas, and the operators of two manifests."""
