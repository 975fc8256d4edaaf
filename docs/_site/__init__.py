"""What builds the site besides Sphinx: the reference, and the pictures of the gallery."""
