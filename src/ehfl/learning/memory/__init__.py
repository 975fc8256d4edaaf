"""What an aggregation remembers of each client: `rows`, a vector per client, and `files`, for large ones."""
