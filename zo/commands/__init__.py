"""What the `zo` commands do: one module each, with its manual, its options and its work."""
