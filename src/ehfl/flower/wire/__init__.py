"""What server and nodes send each other: `messages` in Flower's records, `exchange` of many requests with a deadline.

`heartbeats` decides which nodes to wait for, `pulling` fetches replies so that a slow upload delays no other node.
"""
