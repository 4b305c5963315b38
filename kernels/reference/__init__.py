"""The slow, obvious version of each operator: plain NumPy in float64, one file per operator."""
