"""Tables: what each row says of a result (labels and meanings, each once), and one way to render them (`render`)."""
