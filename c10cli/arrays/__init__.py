"""What a tensor is: libraries, keys, making, describing and comparing arrays."""
