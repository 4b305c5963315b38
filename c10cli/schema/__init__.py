"""What an operator is: the schema language, its values, binding and inference."""
