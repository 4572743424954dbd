"""What differs between two models, by their structure, and between two reports."""
