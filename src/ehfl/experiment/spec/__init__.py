"""Specs: read from TOML or a dict (`read`), validated (`models`), turned into fleets, schedulers, tasks (`build`)."""
