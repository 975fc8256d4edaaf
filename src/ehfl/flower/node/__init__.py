"""A node's half of a round (`client_app`), with its energy `account` on its disk and its `meters`.

`setup` builds fleet and trainer from the spec in its app.
"""
