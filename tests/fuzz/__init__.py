"""A fuzzer of what a user types or edits: commands, specs, run folders and user code.

A case is a pure function of (seed, kind, number), so that each can be tried again by itself:

    python -m tests.fuzz --seed 0 --kind commands --case 17
    python -m tests.fuzz --seed 1 --cases 10000           # what `make fuzz` does

`cases` says what a case and a finding are and runs one; `values` draws right and wrong values; `judging` says what a
command may do. Each kind has a file and a line in `kinds`; `damage` is what befalls folders.
A kind yields what it tries, in words from which it can be done again by hand, and then whatever is wrong with what came
of it. `test_fuzz` is the short form.
"""
