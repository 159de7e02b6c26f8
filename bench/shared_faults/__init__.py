"""Three front ends over a real store under faults: what is lost, and how long clients wait."""
