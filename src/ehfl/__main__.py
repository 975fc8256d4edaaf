"""`python -m ehfl` is `ehfl`."""

from ehfl.cli import main

main()
