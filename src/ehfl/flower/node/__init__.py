"""A node's half of a round (`client_app`): its `config`, its energy `account` on its disk, its `meters`.

`setup` builds fleet and trainer from the spec in its app.
"""
