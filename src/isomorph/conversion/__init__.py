"""From one model and a target to a proven conversion: plan, make in isolation, check, deliver."""
