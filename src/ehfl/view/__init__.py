"""`ehfl view`: a local page of the comparisons and plans in a folder. It only reads; only this machine reaches it."""
