"""What each tool is asked, one program each, on pairs of small networks with known faults."""
