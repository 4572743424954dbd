"""Opening models and sessions, in a worker process or in this one; inputs and their binding."""
