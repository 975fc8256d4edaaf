"""A Flower App project that plays a spec (`project`, `texts`): the `specs` of server and nodes (`bundle`)."""
