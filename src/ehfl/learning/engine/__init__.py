"""How clients train: `local_sgd` says how, `engine` takes one turn, `workers` take turns in parallel.

`stacked` trains small models of many clients as one batch, `flat` holds a model's weights in one vector, `device`
selects where. `reference` is the plain loop that the others are tested against.
"""
