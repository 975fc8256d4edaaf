"""Pages: one HTML file each, of a comparison or a plan, with figures and everything else inside."""
