"""The tandem of 000 by event simulation: model, state, kernel, result."""
