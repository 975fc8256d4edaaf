"""A Flower App project that plays a spec (`project`): the `specs` of server and nodes (`bundle`)."""
