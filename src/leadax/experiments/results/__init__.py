"""What is kept of a study: rows in CSV files, curves, settings, forecasts, and a page about them all."""
