"""What every benchmark needs: processes watched for time and memory, tables, results on disk."""
