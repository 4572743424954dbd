"""Trained models that packages ship: each checked alone, against its other forms, and converted."""
