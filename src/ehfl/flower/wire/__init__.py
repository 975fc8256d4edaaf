"""What server and nodes send each other: `messages`, and the `exchange` of many of them with a deadline."""
