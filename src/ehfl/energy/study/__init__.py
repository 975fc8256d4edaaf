"""Analysis of harvests: statistics by day and year, and models fitted to a trace."""
