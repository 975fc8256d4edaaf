"""The server: a run whose clients are devices (`server_app`).

`nodes` polls them and rejects invalid answers, `devices` selects clients and sends the model, `seen` records what they
answered and summarises all rounds.
"""
